"""The lessons of one tool, sorted by what in a call they look at; a lesson is a number here, its rank."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rearview.learn.facets import Facets
from rearview.learn.keys import parse
from rearview.learn.path_lookups import Part, PathLookups, Pending, Ranks, add
from rearview.learn.preflight import wrong_value
from rearview.learn.quick import NameFilter, quick_type
from rearview.learn.shapes import Shapes
from rearview_interceptors.api import Condition

__all__ = ["Pending", "SchemaOf", "ToolLookups"]

SchemaOf = Callable[[], Mapping[str, Any] | None]
"""Gives the tool's `inputSchema`, as far as it is known by now."""


class Lacks:
    """Lessons about keys that are not there, the best first."""

    __slots__ = ("_by_key", "_is_plain")

    def __init__(self) -> None:
        self._by_key: list[tuple[str, int]] = []
        self._is_plain = True

    def add(self, path: str, rank: int) -> None:
        """Learn that calls without this key fail. Ranks come in rising order."""
        self._by_key.append((path, rank))
        self._is_plain = self._is_plain and path != "" and "." not in path and "[]" not in path

    def read_flat(self, arguments: Mapping[str, Any], hits: list[int], *, every: bool) -> None:
        """Look up arguments that hold no objects and lists."""
        for path, _ in self._by_key:
            # A key with a dot in it is no key of its own at the top, so who is not there may be there after all.
            if path not in arguments or not self._is_plain:
                self.read(Facets(arguments), hits, every=every)
                return

    def read(self, facets: Facets, hits: list[int], *, every: bool) -> None:
        """Look up any arguments."""
        for path, rank in self._by_key:
            if facets.lacks(path):
                hits.append(rank)
                if not every:
                    return


class Top:
    """Lessons about what the schema has against the keys at the top level."""

    __slots__ = ("_enums", "_extra", "_required", "_schema", "_types")

    def __init__(self, schema: SchemaOf) -> None:
        self._schema = schema
        self._enums: dict[str, Ranks] = {}
        self._required: list[tuple[str, int]] = []
        self._extra: dict[str, Ranks] = {}
        self._types: dict[str, dict[str, Ranks]] = {}

    def add(self, key: str, what: str, rank: int) -> None:
        """Learn that calls without a required key fail, or with an extra one, with one of this type or not listed."""
        name, _, kind = what.partition("=")
        if what == "required":
            self._required.append((key, rank))
        elif what == "extra":
            add(self._extra, key, rank)
        elif name == "type" and kind:
            add(self._types.setdefault(key, {}), kind, rank)
        elif what == "enum":
            add(self._enums, key, rank)

    def read(self, arguments: Mapping[str, Any], hits: list[int], *, every: bool) -> None:
        """Look up any arguments."""
        if self._extra or self._types:
            extra, types = self._extra, self._types
            for key in arguments:
                if key in extra:
                    hits += extra[key]
                if key in types:
                    hits += types[key].get(quick_type(arguments[key]), ())
        if self._enums and not self._enums.keys().isdisjoint(arguments):
            self._read_enums(arguments, hits)
        for key, rank in self._required:
            if key not in arguments:
                hits.append(rank)
                if not every:
                    return

    def _read_enums(self, arguments: Mapping[str, Any], hits: list[int]) -> None:
        # What is listed is known to this session alone, and only once the server has named its tools.
        properties = (self._schema() or {}).get("properties")
        if isinstance(properties, Mapping):
            for key, ranks in self._enums.items():
                if key in arguments and wrong_value(properties.get(key), arguments[key]) == "enum":
                    hits += ranks


class ToolLookups:
    """The keys of one tool's lessons, taken apart. The place of a key is its rank, the best first."""

    __slots__ = (
        "_schema", "always", "exact", "lacks", "name_filter", "names", "paths", "reads_values", "shapes", "top",
    )  # fmt: skip

    def __init__(self, keys: Iterable[str], schema: SchemaOf = lambda: None) -> None:
        self._schema = schema
        self.always: list[int] = []
        self.exact: dict[bytes, Ranks] = {}
        self.top: Top | None = None
        self.lacks: Lacks | None = None
        self.names: dict[str, Ranks] = {}
        self.shapes: Shapes | None = None
        self.paths: dict[str, PathLookups] = {}
        for rank, key in enumerate(keys):
            parsed = parse(key)
            if parsed is not None:
                self._add(parsed.condition, parsed.parts or (("", ""),), rank)
        self.name_filter = NameFilter(self.names)
        self.reads_values = bool(self.names or self.paths or self.shapes or self.lacks)

    def _add(self, condition: Condition, parts: tuple[Part, ...], rank: int) -> None:
        path, operand = parts[0]
        match condition:
            case Condition.TOOL:
                self.always.append(rank)
            case Condition.EXACT:
                digest = _digest(operand)
                if digest:
                    add(self.exact, digest, rank)
            case Condition.NAME:
                add(self.names, operand, rank)
            case Condition.SHAPE:
                self.shapes = self.shapes or Shapes()
                self.shapes.add(operand, rank)
            case Condition.LACK:
                self.lacks = self.lacks or Lacks()
                self.lacks.add(path, rank)
            case Condition.SCHEMA:
                self.top = self.top or Top(self._schema)
                self.top.add(path, operand, rank)
            case _:
                self._add_value(condition, parts, rank)

    def _add_value(self, condition: Condition, parts: tuple[Part, ...], rank: int) -> None:
        path, operand = parts[0]
        lookups = self.paths.setdefault(path, PathLookups())
        if condition is Condition.VALUE:
            lookups.add_values(operand, parts[1:], rank)
        elif condition is Condition.PATTERN:
            lookups.add_pattern(operand, rank)
        else:
            lookups.add_class(operand, rank, or_type=condition is Condition.KEY)


def _digest(text: str) -> bytes:
    """Return the bytes of a digest, none for anything that isn't written the way digests are."""
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        return b""
    return digest if digest.hex() == text else b""
