"""Faster readings of values that agree with `values` and `facets` on everything; a property test holds them to it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rearview.learn.facets import MAX_DEPTH, MAX_ITEMS, MAX_KEYS, MAX_LEAVES
from rearview.learn.names import MAX_TEXT_CHARS, SQL_START
from rearview.learn.values import (
    MAX_FOLDERS,
    MAX_PATH_CHARS,
    SHORT_TEXT_CHARS,
    folders,
    is_free_text,
    is_opaque,
    json_type,
    pattern,
    value_class,
)

MAX_WIDTH = 2000
"""Keys of one object beyond which a call is not read: sorting them would take too long."""

# An extension is the last seven characters at most.
_EXTENSION_CHARS = 8
_BLANKED = str.maketrans("0123456789", "##########")
_ASCII_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LETTERS = bytes(c if c == ord("_") else ord(chr(c).lower()) if c in _ASCII_LETTERS else ord(" ") for c in range(256))
_JSON_TYPES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", list: "array"}
_SQL_NAMES = ("tbl:", "col:")
_LAST_LETTERS = re.compile(r"[A-Za-z_]+(?=[^A-Za-z_]*$)")


def quick_class(value: str) -> str:
    """Return `value_class` of a string."""
    if len(value) <= SHORT_TEXT_CHARS:
        # Every date, number and id has a digit or a dash in it, every path a dot or a slash.
        return "word" if value.isalpha() else value_class(value)
    first = value[0]
    if (
        first in "[{~"
        or first.isspace()
        or "/" in value
        or "\n" in value
        or "," in value
        or "@" in value
        or "\\" in value
        or "\t" in value
        or "[redacted:" in value
    ):
        return value_class(value)
    # What is left is prose, or one long word that may end as the name of a file does.
    return "text" if " " in value or "." not in value[-_EXTENSION_CHARS:] else value_class(value)


def quick_type(value: Any) -> str:
    """Return `json_type` of a value."""
    return _JSON_TYPES.get(type(value)) or json_type(value)


def quick_pattern(value: str) -> str:
    """Return `pattern` of a string of at most 20 characters."""
    if value.isascii() and "[" not in value:
        return value.translate(_BLANKED)
    return pattern(value)


def quick_folders(value: str, depth: int) -> tuple[str, ...]:
    """Return as many of `folders` of a string as have at most `depth` parts, and perhaps more."""
    if value[:1] != "/" or ".." in value or "\n" in value or len(value) > MAX_PATH_CHARS:
        return folders(value)
    found: list[str] = []
    start, end = 1, 0
    for _ in range(min(depth, MAX_FOLDERS)):
        end = value.find("/", start)
        part = value[start:end] if end >= 0 else value[start:]
        if part in ("", "."):
            # Doubled slashes and dots are rare, but for one slash at the end.
            return tuple(found) if end < 0 and part == "" else folders(value)
        found.append(value[:end] if end >= 0 else value)
        if end < 0:
            break
        start = end + 1
    return tuple(found)


def quick_free_text(value: str) -> bool:
    """Return `is_free_text` of a string."""
    # A query needs white space, and so does a sentence.
    return not (len(value) <= SHORT_TEXT_CHARS and value.isalnum()) and is_free_text(value)


def walk(arguments: Mapping[str, Any]) -> list[tuple[str, Any, bool]] | None:
    """Return path and value of every node below the top, and whether it is a leaf; `None` if an object is too wide."""
    found: list[tuple[str, Any, bool]] = []
    stack: list[tuple[str, Any, int]] = [("", arguments, 0)]
    leaves = 0
    while stack and leaves < MAX_LEAVES:
        path, value, depth = stack.pop()
        inner = type(value) in (dict, list) and bool(value) and depth < MAX_DEPTH and not is_opaque(value)
        if path:
            found.append((path, value, not inner))
            leaves += not inner
        if not inner:
            continue
        if type(value) is list:
            stack.extend((f"{path}[]", item, depth + 1) for item in reversed(value[:MAX_ITEMS]))
        elif len(value) > MAX_WIDTH:
            return None
        else:
            keys = sorted(value)[:MAX_KEYS]
            stack.extend((f"{path}.{k}" if path else k, value[k], depth + 1) for k in reversed(keys))
    return found


class NameFilter:
    """Tells cheaply that a text holds none of some names, so that it need not be read for them.

    The last letters of a name stand in the text as a run of letters of their own: `tbl:visits` in `from visits v`.
    """

    __slots__ = ("_always", "_literals", "_only_sql", "_runs")

    def __init__(self, names: Iterable[str]) -> None:
        self._always = False
        self._only_sql = True
        runs: set[bytes] = set()
        literals: set[str] = set()
        for name in names:
            self._only_sql = self._only_sql and name.startswith(_SQL_NAMES)
            # What is before the last colon may be ours (`tbl:`, `cmd:`), and not in the text.
            words = name.rpartition(":")[2].split()
            if not words or not name.isascii():
                self._always = True
            elif letters := _LAST_LETTERS.search(words[-1]):
                runs.add(letters[0].lower().encode())
            else:
                literals.add(words[-1])
        self._runs = frozenset(runs)
        self._literals = tuple(literals)

    def may_hold(self, text: str) -> bool:
        """Tell whether the text is worth reading for names."""
        # In a text that is no query, only a word with a colon in it can look like the name of a table.
        if self._only_sql and ":" not in text and not SQL_START.match(text):
            return False
        if self._always or not text.isascii():
            return True
        if not self._runs.isdisjoint(text[:MAX_TEXT_CHARS].encode().translate(_LETTERS).split()):
            return True
        return any(literal in text for literal in self._literals)
