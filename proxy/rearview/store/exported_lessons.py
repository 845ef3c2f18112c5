"""What a file of exported lessons may hold: checked field by field, so that a mistake is named where it stands.

Anybody may have written the file. What passes here is still believed no more than a row of the lessons table is.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, NamedTuple, NoReturn, get_args

from rearview.learn.evidence import lesson_id
from rearview.learn.keys import parse
from rearview.learn.model import ScopedLesson
from rearview.store.ledger_rows import lesson_from_json
from rearview.store.lessons_rows import MAX_ENV_CHARS, MAX_FIXES, MAX_KEY_CHARS
from rearview_interceptors.api import Condition, FixAction, Kind

EXPORT_VERSION = 1
MAX_NAME_CHARS = 1000
MAX_COUNT = 10**9
MAX_UNIX_TIME = 10**11
SHOWN_CHARS = 60
REMEDY = "correct that, or export again with `mcp-rearview lessons export`; nothing was imported"


class Field(NamedTuple):
    """What one field takes, as a check and in words."""

    fits: Callable[[Any], bool]
    takes: str
    optional: bool = False


def _text(limit: int, *, empty: bool = True) -> Field:
    def fits(value: Any) -> bool:
        if type(value) is not str or len(value) > limit or not (value or empty):
            return False
        # Half an emoji: JSON can write it down, and nothing can store it.
        return not any("\ud800" <= char <= "\udfff" for char in value)

    return Field(fits, f"a text of {0 if empty else 1} to {limit} characters")


def _number(low: float, high: float) -> Field:
    def fits(value: Any) -> bool:
        return type(value) in (int, float) and isfinite(value) and low <= value <= high

    return Field(fits, f"a number from {low} to {high}")


def _one_of(names: Iterable[str]) -> Field:
    known = tuple(names)
    return Field(lambda value: type(value) is str and value in known, f"one of {', '.join(known)}")


def _list(what: str, most: int | None = None) -> Field:
    return Field(lambda value: type(value) is list and (most is None or len(value) <= most), what)


_COUNT = Field(lambda value: type(value) is int and 0 <= value <= MAX_COUNT, f"a whole number from 0 to {MAX_COUNT}")
_OBJECT = Field(lambda value: type(value) is dict, "an object")

FILE = {
    "rearview_lessons": Field(lambda value: value is not True and value == EXPORT_VERSION, f"{EXPORT_VERSION}"),
    "lessons": _list("a list"),
}
ENTRY = {
    "server": _text(MAX_NAME_CHARS, empty=False),
    "tool": _text(MAX_NAME_CHARS, empty=False),
    "env": _text(MAX_ENV_CHARS),
    "lesson": _OBJECT,
}
LESSON = {
    "id": _text(MAX_NAME_CHARS),
    # What a session knows is never stored, so a file that claims it is not ours.
    "condition": _one_of(each.value for each in Condition if not each.value.startswith("session_")),
    "key": _text(MAX_KEY_CHARS, empty=False),
    "field": _text(MAX_KEY_CHARS),
    "kind": _one_of(each.value for each in Kind),
    "failed": _COUNT,
    "met": _COUNT,
    "last_seen": _number(0, MAX_UNIX_TIME),
    "score": _number(0, 1),
    "loud": Field(lambda value: type(value) is bool, "true or false"),
    "fixes": _list(f"a list of at most {MAX_FIXES}", MAX_FIXES)._replace(optional=True),
    "good_form": _text(MAX_KEY_CHARS)._replace(optional=True),
}
FIX = {
    "action": _one_of(get_args(FixAction)),
    "field": _text(MAX_KEY_CHARS),
    "to": _text(MAX_KEY_CHARS),
    "trajectories": _COUNT,
}


def lessons_in(exported: Mapping[str, Any], owner: str) -> list[ScopedLesson]:
    """Return the lessons of an export as the owner's own.

    Raises:
        ValueError: the first thing in it that is not as it should be: where, what, and what to do.
    """
    _check(exported, FILE, "", "the file")
    return [_scoped(entry, f"entry {number}", owner) for number, entry in enumerate(exported["lessons"], 1)]


def _scoped(entry: Any, place: str, owner: str) -> ScopedLesson:
    _check(entry, ENTRY, "", place)
    body = entry["lesson"]
    _check(body, LESSON, "lesson.", place)
    for number, fix in enumerate(body.get("fixes", ()), 1):
        _check(fix, FIX, f"lesson.fixes[{number}].", place)
    if body["failed"] > body["met"]:
        _refuse(place, "lesson.failed", body["failed"], f"at most lesson.met, which is {body['met']}")
    parsed = parse(body["key"])
    if parsed is None or parsed.condition != body["condition"]:
        _refuse(place, "lesson.key", body["key"], f"the key of a condition {body['condition']}")
    lesson = lesson_from_json(body)
    server, tool, env = entry["server"], entry["tool"], entry["env"]
    # The id says whose it is, and is what evidence and effects of this owner will go by.
    return ScopedLesson(owner, server, tool, replace(lesson, id=lesson_id(owner, server, tool, lesson.key, env)), env)


def _check(value: Any, fields: Mapping[str, Field], prefix: str, place: str) -> None:
    if type(value) is not dict:
        _refuse(place, prefix.rstrip("."), value, f"an object with {', '.join(fields)}")
    for name in value:
        if name not in fields:
            message = f"{place}: {_shown(prefix + name)} is no field of it; there are {', '.join(fields)}: {REMEDY}"
            raise ValueError(message)
    for name, field in fields.items():
        if name not in value:
            if not field.optional:
                message = f"{place}: {prefix}{name} is missing; it takes {field.takes}: {REMEDY}"
                raise ValueError(message)
        elif not field.fits(value[name]):
            _refuse(place, prefix + name, value[name], field.takes)


def _refuse(place: str, name: str, value: Any, takes: str) -> NoReturn:
    what = f"{place}: {name}" if name else place
    message = f"{what} is {_shown(value)}, but takes {takes}: {REMEDY}"
    raise ValueError(message)


def _shown(value: Any) -> str:
    """A value as an error may print it: on one line, short, and nothing in it that a terminal obeys."""
    try:
        text = json.dumps(value)
    except RecursionError:
        return "nested too deeply"
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"
