"""Lessons in words for the person who owns them; what an agent reads is made elsewhere."""

from typing import TYPE_CHECKING

from rearview.learn.words_en import FORMS
from rearview_interceptors.api import Condition, Fix, Lesson

if TYPE_CHECKING:
    from rearview.store.ledger_lessons import LessonView

CONDITIONS = {
    Condition.EXACT: "exactly the same call",
    Condition.VALUE: "{rest}",
    Condition.NAME: "it names {rest}",
    Condition.KEY: "{rest} is given",
    Condition.LACK: "{rest} is missing",
    Condition.TOOL: "any call of the tool",
    Condition.SHAPE: "these together: {rest}",
    Condition.CLASS: "{rest}",
    Condition.PATTERN: "{rest}",
    Condition.SCHEMA: "against the schema: {rest}",
    Condition.SESSION_EXACT: "exactly the same call, in this session",
    Condition.SESSION_GROUNDED: "the same cause, in this session",
    Condition.SESSION_LOOP: "the same failure again and again, in this session",
}
JOINTS = {
    Condition.VALUE: ("=", " is "),
    Condition.CLASS: ("=", " is "),
    Condition.KEY: ("=", " as "),
    Condition.PATTERN: ("~", " has the form "),
}
FIXES = {
    "rename": "say `{to}` for `{field}`",
    "add": "add `{field}`",
    "drop": "leave out `{field}`",
    "convert": "write `{field}` as {to}",
    "prefix": "put {to} before `{field}`",
    "known_name": "for `{field}`, {to} worked",
    "type": "give `{field}` as {to}",
    "call_first": "call {to} first",
    "wait": "wait",
}


def condition_words(lesson: Lesson) -> str:
    """Say what about a call makes it fail."""
    _, _, rest = lesson.key.partition(":")
    if lesson.condition is Condition.CLASS:
        path, _, kind = rest.rpartition("=")
        rest = f"{path}={FORMS.get(kind, kind)}"
    if lesson.condition in JOINTS:
        rest = rest.replace(*JOINTS[lesson.condition], 1)
    return CONDITIONS[lesson.condition].format(rest=rest)


def fix_words(fix: Fix) -> str:
    """Say what to do instead, and how often that worked."""
    words = FIXES[fix.action].format(
        field=fix.field, to=FORMS.get(fix.to, fix.to) if fix.action in ("convert", "type") else fix.to
    )
    tasks = "1 task" if fix.trajectories == 1 else f"{fix.trajectories} tasks"
    return f"{words} (worked in {tasks})" if fix.trajectories else words


def voice(view: "LessonView") -> str:
    """Say how loud it may be."""
    if view.state == "muted":
        return "muted"
    return "holds the call" if view.scoped.lesson.loud else "advice"
