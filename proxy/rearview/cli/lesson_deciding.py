"""What the user decides about a lesson, and which other lessons say the same thing and go along."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from rearview.cli.options import refuse
from rearview.learn.keys import parse
from rearview_interceptors.api import Condition

if TYPE_CHECKING:
    from rearview.store.ledger import Ledger
    from rearview.store.ledger_lessons import LessonView

_OF_A_SESSION = re.compile(r"s[0-9a-f]+")
SESSION_REMEDY = (
    "{id!r} is what a relay remembered of its own session: it is gone with the session, so there is nothing to show, "
    'mute or forget; to silence its tool, set mode = "observe" in [servers.NAME.tools.TOOL] of the configuration'
)


class Action(StrEnum):
    """What can be decided about one lesson."""

    MUTE = "mute"
    UNMUTE = "unmute"
    FORGET = "forget"


WORDS = {Action.MUTE: "muted", Action.UNMUTE: "free to speak", Action.FORGET: "forgotten"}


class Decided(NamedTuple):
    """What became of a lesson; `twins` went along, unless it was forgotten: evidence is deleted one by one."""

    lesson: str
    action: Action
    twins: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """The same as plain JSON."""
        return {"id": self.lesson, "action": self.action.value, "twins": list(self.twins)}

    def words(self) -> str:
        """The same for a person."""
        also = ""
        if self.twins:
            names, are, say = " and ".join(self.twins), *(("is", "says") if len(self.twins) == 1 else ("are", "say"))
            become = "not" if self.action is Action.FORGET else "too"
            also = f" {names}, which {say} the same in another way, {are} {become}."
        return f"{self.lesson} is {WORDS[self.action]}.{also} Relays know within a second."


def find(ledger: "Ledger", owner: str, text: str) -> "LessonView":
    """Return the lesson of this id, or the only one whose id begins so.

    Raises:
        StoreError: there is none, or more than one.
    """
    exact = ledger.lesson(owner, text)
    if exact is not None:
        return exact
    near = [view for view in ledger.lessons(owner) if _id(view).startswith(text)]
    if not near and _OF_A_SESSION.fullmatch(text):
        refuse(SESSION_REMEDY.format(id=text))
    if len(near) != 1:
        what = "fits more than one lesson" if near else "is no lesson"
        refuse(f"{text!r} {what}: `mcp-rearview lessons list --all` lists their ids")
    return near[0]


def decide(ledger: "Ledger", owner: str, action: Action, text: str) -> Decided:
    """Do it to the lesson, and mute and unmute its twins, too: a pattern is silent as a whole. `publish` afterwards.

    Raises:
        StoreError: there is no such lesson.
    """
    view = find(ledger, owner, text)
    do = {Action.MUTE: ledger.mute, Action.UNMUTE: ledger.unmute, Action.FORGET: ledger.forget}[action]
    twins = tuple(_id(twin) for twin in twins_of(view, ledger.lessons(owner)))
    for each in (_id(view), *(twins if action is not Action.FORGET else ())):
        do(owner, each)
    return Decided(_id(view), action, twins)


def twins_of(view: "LessonView", views: Iterable["LessonView"]) -> list["LessonView"]:
    """Return the other lessons of the same tool that blame the same key for the same thing."""
    mine = _missing_key(view)
    return [each for each in views if mine and _missing_key(each) == mine and each.scoped.lesson.id != _id(view)]


def _id(view: "LessonView") -> str:
    return view.scoped.lesson.id


def _missing_key(view: "LessonView") -> tuple[str, str, str] | None:
    """Return the key that has to be there, with its tool: failures teach it, and so may the schema."""
    parsed = parse(view.scoped.lesson.key)
    if parsed is None or not parsed.parts:
        return None
    path, what = parsed.parts[0]
    missing = parsed.condition is Condition.LACK or (parsed.condition is Condition.SCHEMA and what == "required")
    return (view.scoped.server, view.scoped.tool, path) if missing else None
