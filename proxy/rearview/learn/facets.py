"""One reading of a call's arguments, used by relay and learner alike."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from rearview.learn.blake2 import blake2b
from rearview.learn.names import names_in
from rearview.learn.values import (
    folders,
    host,
    is_free_text,
    is_opaque,
    is_scalar,
    json_type,
    pattern,
    value_class,
)

__all__ = [
    "Facets",
    "folders",
    "host",
    "is_free_text",
    "is_opaque",
    "is_scalar",
    "json_type",
    "leaves",
    "names_in",
    "nodes",
    "pattern",
    "shape",
    "value_class",
]

MAX_LEAVES = 60
MAX_KEYS = 40
MAX_ITEMS = 6
MAX_DEPTH = 12
MAX_SHAPE_CHARS = 160


def leaves(arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Path and value of every leaf, at most 60; list positions are dropped, so ten objects in a list look like one."""
    return [(path, value) for path, value, leaf in _walk(arguments, "", 0) if leaf][:MAX_LEAVES]


def nodes(arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Path and value of every leaf and every container below the top, within the same limits as `leaves`."""
    return [(path, value) for path, value, _ in _walk(arguments, "", 0) if path]


def _walk(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any, bool]]:
    count = 0
    stack = [(path, value, depth)]
    while stack and count < MAX_LEAVES:
        path, value, depth = stack.pop()
        inner = depth < MAX_DEPTH and bool(value) and not is_opaque(value)
        if inner and isinstance(value, Mapping):
            yield path, value, False
            below = [(f"{path}.{key}" if path else str(key), value[key]) for key in sorted(value, key=str)[:MAX_KEYS]]
        elif inner and isinstance(value, list):
            yield path, value, False
            below = [(f"{path}[]", item) for item in value[:MAX_ITEMS]]
        else:
            if path:
                count += 1
                yield path, value, True
            continue
        stack.extend((where, item, depth + 1) for where, item in reversed(below))


def shape(arguments: Mapping[str, Any]) -> str:
    """All paths with their classes; hashed when long, empty when a value was redacted or cut away."""
    classes = {(path, value_class(value)) for path, value in leaves(arguments)}
    if any(not name for _, name in classes):
        return ""
    text = "|".join(sorted(f"{path}={name}" for path, name in classes))
    if len(text) <= MAX_SHAPE_CHARS:
        return text
    return "#" + blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


class Facets:
    """The facets of one call, each computed when first asked for."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.arguments = arguments

    @cached_property
    def leaves(self) -> list[tuple[str, Any]]:
        """Path and value of every leaf."""
        return leaves(self.arguments)

    @cached_property
    def types(self) -> frozenset[tuple[str, str]]:
        """Path and JSON type of every node."""
        return frozenset((path, json_type(value)) for path, value in nodes(self.arguments))

    @cached_property
    def paths(self) -> frozenset[str]:
        """Path of every node."""
        return frozenset(path for path, _ in self.types)

    @cached_property
    def key_names(self) -> frozenset[str]:
        """Every key at any depth, without its path."""
        return frozenset(part for path in self.paths for part in path.replace("[]", "").split("."))

    @cached_property
    def classes(self) -> frozenset[tuple[str, str]]:
        """Path and value class; for an absolute path also one `abspath^<folder>` for each leading folder."""
        plain = {(path, name) for path, value in self.leaves if (name := value_class(value))}
        return frozenset(plain | {(path, f"abspath^{folder}") for path, v in self.leaves for folder in folders(v)})

    @cached_property
    def patterns(self) -> frozenset[tuple[str, str]]:
        """Path and pattern of short values, and `@host` of URLs."""
        short = {(path, form) for path, v in self.leaves if (form := pattern(v)) and not is_free_text(v)}
        return frozenset(short | {(path, "@" + name) for path, v in self.leaves if (name := host(v))})

    @cached_property
    def values(self) -> frozenset[tuple[str, str]]:
        """Path and text of every value that may be compared as a whole."""
        return frozenset((path, str(value)) for path, value in self.leaves if is_scalar(value))

    @cached_property
    def names(self) -> frozenset[str]:
        """Identifiers in all free-text arguments."""
        return frozenset(name for _, value in self.leaves if is_free_text(value) for name in names_in(value).names)

    @cached_property
    def shape(self) -> str:
        """Paths with classes, as `shape` gives them."""
        return shape(self.arguments)

    def lacks(self, path: str) -> bool:
        """Whether a key is missing: a nested one where its parent is there, a bare name at any depth."""
        parent, dot, _ = path.rpartition(".")
        if dot:
            return path not in self.paths and parent in self.paths
        return path not in self.key_names
