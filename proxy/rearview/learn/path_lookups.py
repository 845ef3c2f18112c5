"""What is known to fail about one argument, in dictionaries: a facet is computed only if a lesson asks for it."""

from typing import Any

from rearview.learn.outside import OUTSIDE, is_beyond, roots_of
from rearview.learn.quick import quick_class, quick_folders, quick_pattern, quick_type
from rearview.learn.values import (
    MAX_PATTERN_CHARS,
    MAX_VALUE_CHARS,
    SHORT_TEXT_CHARS,
    host,
    is_free_text,
    is_scalar,
    plain_absolute,
    value_class,
)

Ranks = tuple[int, ...]
Part = tuple[str, str]
Pending = tuple[int, tuple[Part, ...]]
"""A rank that counts only if all of these values are in the call."""

_FOLDER = "abspath^"
_JSON_TYPES = frozenset({"string", "null", "boolean", "number", "array", "object"})
_SHORT_CLASSES = frozenset({"datetime", "date", "otherdate", "time", "numstr", "id", "word", "words"})


def add(table: dict[Any, Ranks], key: Any, rank: int) -> None:
    """Add a rank to what a key stands for."""
    table[key] = (*table.get(key, ()), rank)


class PathLookups:
    """The lessons about one path. `hits` and `pending` of the readers are lists to append to."""

    __slots__ = (
        "_borders",
        "_classes",
        "_depth",
        "_folders",
        "_hosts",
        "_lengths",
        "_only_short",
        "_patterns",
        "_reads_folders",
        "_types",
        "_values",
    )

    def __init__(self) -> None:
        self._values: dict[str, tuple[Ranks, tuple[Pending, ...]]] = {}
        self._classes: dict[str, Ranks] = {}
        self._only_short = True
        self._folders: dict[str, Ranks] = {}
        self._depth = 0
        self._reads_folders = False
        self._borders: tuple[tuple[tuple[str, ...], int], ...] = ()
        self._patterns: dict[str, Ranks] = {}
        self._lengths: frozenset[int] = frozenset()
        self._hosts: dict[str, Ranks] = {}
        self._types: dict[str, Ranks] = {}

    def add_values(self, value: str, rest: tuple[Part, ...], rank: int) -> None:
        """Learn that this value fails, or only together with the rest."""
        alone, several = self._values.get(value, ((), ()))
        self._values[value] = (alone, (*several, (rank, rest))) if rest else ((*alone, rank), several)

    def add_class(self, name: str, rank: int, *, or_type: bool) -> None:
        """Learn that values of a class fail, or those in or outside of folders, or (on demand) those of a JSON type."""
        if name.startswith(OUTSIDE):
            if not or_type and (roots := roots_of(name)):
                self._borders = (*self._borders, (roots, rank))
                self._reads_folders = True
        elif name.startswith(_FOLDER):
            self._reads_folders = True
            folder = name.removeprefix(_FOLDER)
            add(self._folders, folder, rank)
            self._depth = max(self._depth, folder.count("/"))
        elif name:
            add(self._classes, name, rank)
            self._only_short = self._only_short and name in _SHORT_CLASSES
        if or_type and name in _JSON_TYPES:
            add(self._types, name, rank)

    def add_pattern(self, form: str, rank: int) -> None:
        """Learn that values of a pattern fail, or (`@host`) URLs of a host."""
        if form.startswith("@") and len(form) > 1:
            add(self._hosts, form[1:], rank)
        if 0 < len(form) <= MAX_PATTERN_CHARS:
            add(self._patterns, form, rank)
            # A pattern is as long as its value.
            self._lengths |= {len(form)}

    def read(self, value: Any, hits: list[int], pending: list[Pending]) -> None:
        """Look up one leaf."""
        kind = type(value)
        if kind is str:
            self._read_text(value, hits, pending)
        elif kind is int or kind is float:
            self._read_number(value, hits, pending)
        else:
            if self._classes:
                hits += self._classes.get(value_class(value), ())
            if self._types:
                hits += self._types.get(quick_type(value), ())

    def read_container(self, value: Any, hits: list[int]) -> None:
        """Look up an object or a list that is not empty."""
        if self._types:
            hits += self._types.get(quick_type(value), ())

    def _read_number(self, value: float, hits: list[int], pending: list[Pending]) -> None:
        if self._values:
            known = self._values.get(str(value))
            if known is not None:
                hits += known[0]
                pending += known[1]
        if self._classes:
            hits += self._classes.get(value_class(value), ())
        if self._types:
            hits += self._types.get("number", ())

    def _read_text(self, value: str, hits: list[int], pending: list[Pending]) -> None:
        size = len(value)
        if size <= MAX_VALUE_CHARS:
            known = self._values.get(value)
            if known is not None and is_scalar(value):
                hits += known[0]
                pending += known[1]
        if self._classes and (size <= SHORT_TEXT_CHARS or not self._only_short):
            hits += self._classes.get(quick_class(value), ())
        if size in self._lengths:
            ranks = self._patterns.get(quick_pattern(value))
            if ranks is not None and not is_free_text(value):
                hits += ranks
        if self._reads_folders and value[:1] in ("/", "~"):
            self._read_path(value, hits)
        if self._hosts and "://" in value:
            hits += self._hosts.get(host(value), ())
        if self._types:
            hits += self._types.get("string", ())

    def _read_path(self, value: str, hits: list[int]) -> None:
        if self._folders:
            for folder in quick_folders(value, self._depth):
                hits += self._folders.get(folder, ())
        if self._borders and (path := plain_absolute(value)):
            hits += [rank for roots, rank in self._borders if is_beyond(path, roots)]
