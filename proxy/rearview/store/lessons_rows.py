"""The checks that one row of the lessons table passes before anyone believes it.

A row with a field of the wrong type or range is not believed at all. What a lesson names may be shown to a model one
day, so a name has to look like a name (an identifier can be a sentence); one that doesn't is left out, the rest stays.
"""

import re
from collections.abc import Callable
from math import isfinite
from typing import Any

from rearview.learn.model import ScopedLesson
from rearview_interceptors.api import Condition, Fix, Kind, Lesson

MAX_FIXES = 8
MAX_KEY_CHARS = 400
MAX_ENV_CHARS = 200

_MAX_ID_CHARS = 64
_MAX_PATH_CHARS = 200
_MAX_COUNT = 10**9
_MAX_UNIX_TIME = 10.0**11
_ROW_FIELDS = 13
_FIX_TYPES = [str, str, str, int]

# What a session knows is never stored, so a table that claims it is not ours.
_CONDITIONS = {c.value: c for c in Condition if not c.value.startswith("session_")}
_KINDS = {k.value: k for k in Kind}
_JSON_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})

# Text, not compiled: most relays never read a row, and compiling these costs them a millisecond at the start.
_NAME = r"[\w$@:/-]{1,64}"
_PATH = r"[\w$@:/-]{1,64}(?:\[\])*(?:\.[\w$@:/-]{1,64}(?:\[\])*)*"
_TOOL_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}"
_BELOW = "abspath^"
_FORM = r"[\w#:./,+@ ()%$&=*~-]{1,40}"
_FOLDERS = r"(?:~|[A-Za-z]:)?(?:[/\\][^/\\\x00-\x1f\x7f]{1,64})+[/\\]?|[/~]"
# Eight words still make an identifier, more make a sentence; a script without capitals and spaces is counted by length.
_WORDS = r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+"
_MAX_WORDS = 8
_MAX_WORDS_OF_A_FOLDER = 4
_MAX_CHARS_BEYOND_ASCII = 16
_MAX_WORDS_OF_A_FORM = 1
_SHORTEST_WORD = 3


class RowReader:
    """Reads the rows of one tool. Fields, forms and fixes repeat from row to row and are checked once each."""

    __slots__ = ("_fields", "_fixes", "_forms", "_scope")

    def __init__(self, owner: str, server: str, tool: str) -> None:
        self._scope = (owner, server, tool)
        self._fields: dict[str, str] = {}
        self._forms: dict[str, str] = {}
        self._fixes: dict[tuple[str, str, str, int], Fix | None] = {}

    def row(self, row: Any) -> ScopedLesson | None:
        """Return the lesson of a row, or `None` if any field of it is not what it should be."""
        if type(row) is not list or len(row) != _ROW_FIELDS:
            return None
        ident, condition, key, field, kind, failed, met, last_seen, score, loud, fixes, good_form, env = row
        if not (
            _is_id(ident)
            and type(condition) is str
            and condition in _CONDITIONS
            and _is_text(key, MAX_KEY_CHARS)
            and key.startswith(condition + ":")
            and _is_text(field, MAX_KEY_CHARS)
            and type(kind) is str
            and kind in _KINDS
            and _is_count(failed)
            and _is_count(met)
            and failed <= met
            and _is_number(last_seen, _MAX_UNIX_TIME)
            and _is_number(score, 1.0)
            and type(loud) is bool
            and _is_text(good_form, MAX_KEY_CHARS)
            and _is_text(env, MAX_ENV_CHARS)
            and type(fixes) is list
            and len(fixes) <= MAX_FIXES
            and all(_is_fix(fix) for fix in fixes)
        ):
            return None
        known = tuple([fix for f in fixes if (fix := self._fix(f)) is not None]) if fixes else ()
        numbers = (failed, met, float(last_seen), float(score), loud)
        field, good_form = self._field(field), self._form(good_form)
        lesson = Lesson(ident, _CONDITIONS[condition], key, field, _KINDS[kind], *numbers, known, good_form)
        return ScopedLesson(*self._scope, lesson, env)

    def _field(self, text: str) -> str:
        known = self._fields.get(text)
        if known is None:
            known = self._fields[text] = text if is_field(text) else ""
        return known

    def _form(self, text: str) -> str:
        known = self._forms.get(text)
        if known is None:
            known = self._forms[text] = text if _is_form(text) else ""
        return known

    def _fix(self, row: list[Any]) -> Fix | None:
        key = (row[0], row[1], row[2], row[3])
        if key not in self._fixes:
            self._fixes[key] = _fix(*key)
        return self._fixes[key]


def _is_fix(row: Any) -> bool:
    return type(row) is list and [type(part) for part in row] == _FIX_TYPES and _is_count(row[3])


def _fix(action: str, field: str, to: str, trajectories: int) -> Fix | None:
    is_target = _IS_TARGET.get(action)
    if is_target is None or len(to) > _MAX_PATH_CHARS or not is_target(to):
        return None
    if not is_field(field):
        return None
    return Fix(action, field, to, trajectories)  # type: ignore[arg-type]  # checked against _IS_TARGET


def is_field(path: str) -> bool:
    """Tell whether `path` is empty or the path of an argument: names joined by `.` and `[]`."""
    if len(path) > _MAX_PATH_CHARS:
        return False
    return path == "" or (
        re.fullmatch(_PATH, path) is not None and all(_is_short(step, _MAX_WORDS) for step in path.split("."))
    )


def is_name(text: str) -> bool:
    """Tell whether `text` reads as one identifier: one word by its characters, and not a sentence in disguise."""
    return re.fullmatch(_NAME, text) is not None and _is_short(text, _MAX_WORDS)


def _is_short(text: str, words: int) -> bool:
    return len(re.findall(_WORDS, text)) <= words and (text.isascii() or len(text) <= _MAX_CHARS_BEYOND_ASCII)


def _is_tool(text: str) -> bool:
    return re.fullmatch(_TOOL_NAME, text) is not None and _is_short(text, _MAX_WORDS)


def _is_form(text: str) -> bool:
    """Tell whether `text` is a value class or a pattern; a pattern may hold one word (a month), not a phrase."""
    if text.startswith(_BELOW):
        return len(text) <= _MAX_PATH_CHARS and _is_folder(text.removeprefix(_BELOW))
    if re.fullmatch(_FORM, text) is None:
        return False
    if " " not in text:
        return _is_short(text, _MAX_WORDS)
    return sum(len(word) >= _SHORTEST_WORD for word in re.findall(_WORDS, text)) <= _MAX_WORDS_OF_A_FORM


def _is_folder(text: str) -> bool:
    return re.fullmatch(_FOLDERS, text) is not None and all(
        " " not in step or _is_short(step, _MAX_WORDS_OF_A_FOLDER) for step in text.replace("\\", "/").split("/")
    )


def _is_id(text: Any) -> bool:
    return _is_text(text, _MAX_ID_CHARS) and text != "" and text.isascii() and text.isprintable() and " " not in text


def _is_text(text: Any, limit: int) -> bool:
    return type(text) is str and len(text) <= limit


def _is_count(number: Any) -> bool:
    return type(number) is int and 0 <= number <= _MAX_COUNT


def _is_number(number: Any, limit: float) -> bool:
    return (type(number) is float or type(number) is int) and isfinite(number) and 0 <= number <= limit


_IS_TARGET: dict[str, Callable[[str], bool]] = {
    "rename": is_name,
    "add": lambda text: text == "" or _is_form(text),
    "drop": lambda text: text == "",
    "convert": _is_form,
    "prefix": _is_folder,
    "known_name": is_name,
    "type": _JSON_TYPES.__contains__,
    "call_first": _is_tool,
    "wait": lambda text: text == "",
}
