"""Lessons in words for the person who owns them; what an agent reads is made elsewhere."""

from typing import TYPE_CHECKING

from rearview.learn.forms import form_in_words
from rearview.learn.keys import parse
from rearview.learn.outside import roots_of
from rearview.learn.words_en import FORMS
from rearview_interceptors.api import Condition, Fix, Kind, Lesson

if TYPE_CHECKING:
    from rearview.store.ledger_lessons import LessonView

KINDS = {
    Kind.ARGUMENT: "wrong arguments",
    Kind.PRECONDITION: "another step comes first",
    Kind.NOT_FOUND: "not found",
    Kind.FORBIDDEN: "refused",
    Kind.RATE_LIMITED: "too many requests",
    Kind.TRANSIENT: "busy or too slow",
    Kind.ENVIRONMENT: "the server lacks something",
    Kind.UNKNOWN_TOOL: "no such tool",
    Kind.EMPTY: "nothing found",
    Kind.OTHER: "an error",
}
SCHEMA = {
    "required": "{path} is missing, which the schema requires",
    "extra": "{path} is given, which the schema does not have",
    "enum": "{path} has a value that the schema does not list",
    "type": "{path} is given as {form}, which the schema does not take",
}
SESSION = {
    Condition.SESSION_EXACT: "exactly the same call, in this session",
    Condition.SESSION_GROUNDED: "the same cause, in this session",
    Condition.SESSION_LOOP: "the same failure again and again, in this session",
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

_FOLDER = "abspath^"


def condition_words(lesson: Lesson, call: str = "") -> str:
    """Say what about a call makes it fail; `call` tells the arguments of an exact one, where they are still known."""
    if lesson.condition in SESSION:
        return SESSION[lesson.condition]
    if lesson.condition is Condition.EXACT:
        return f"exactly the call {call}" if call else "exactly the same call"
    parsed = parse(lesson.key)
    if parsed is None or parsed.condition is not lesson.condition:
        return lesson.key
    return _said(lesson.condition, parsed.parts)


def form_words(form: str) -> str:
    """Say a mask, a value class or a JSON type."""
    if roots := roots_of(form):
        return f"an absolute path outside of {' and '.join(roots)}"
    if form.startswith(_FOLDER):
        return f"an absolute path in {form.removeprefix(_FOLDER)}"
    if form.startswith("@"):
        return f"a URL of {form[1:]}"
    # Not every mask can be spelled out; a person knows what to make of one, if told what its sign means.
    return form_in_words(form, FORMS) or (f"`{form}` (# is any digit)" if "#" in form else f"`{form}`")


def fix_words(fix: Fix) -> str:
    """Say what to do instead, and how often that worked."""
    to = form_words(fix.to) if fix.action in ("convert", "type") else fix.to
    words = FIXES[fix.action].format(field=fix.field, to=to)
    tasks = "1 task" if fix.trajectories == 1 else f"{fix.trajectories} tasks"
    return f"{words} (worked in {tasks})" if fix.trajectories else words


def voice(view: "LessonView") -> str:
    """Say how loud it may be."""
    if view.state == "muted":
        return "muted"
    return "holds" if view.scoped.lesson.loud else "advises"


def _said(condition: Condition, parts: tuple[tuple[str, str], ...]) -> str:
    path, what = parts[0] if parts else ("", "")
    match condition:
        case Condition.VALUE:
            words = " and ".join(f"{each} is {value}" for each, value in parts)
        case Condition.NAME:
            words = f"it names {what}"
        case Condition.KEY:
            words = f"{path} is given as {form_words(what)}"
        case Condition.LACK:
            words = f"{path} is missing"
        case Condition.PATTERN if "#" not in what and not what.startswith("@"):
            words = f"{path} is `{what}`"
        case Condition.CLASS | Condition.PATTERN:
            words = f"{path} is {form_words(what)}"
        case Condition.SHAPE:
            words = _shape(what)
        case Condition.SCHEMA:
            kind, _, form = what.partition("=")
            words = SCHEMA.get(kind, "{path} is against the schema").format(path=path, form=form_words(form))
        case _:
            words = "any call of the tool"
    return words


def _shape(shape: str) -> str:
    if not shape:
        return "a call without arguments"
    if shape.startswith("#"):
        return "all its arguments in the forms that they had"
    pairs = [part.rpartition("=") for part in shape.split("|")]
    if len(pairs) == 1:
        return f"{pairs[0][0]} alone is given, as {form_words(pairs[0][2])}"
    return "these together: " + ", ".join(f"{path} is {form_words(form)}" for path, _, form in pairs)
