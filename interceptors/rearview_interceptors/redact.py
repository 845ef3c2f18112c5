"""Cuts what is large and hides what is secret in arguments, so that neither is ever stored.

Cutting comes first; `redact_text` says how a secret is hidden that a cut went through.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rearview_interceptors.redact_names import is_secret_value, secrecy
from rearview_interceptors.redact_text import redact_text, suspicious

__all__ = ["Redacted", "canonical", "canonical_schema", "redact_text"]

STRING_LIMIT = 2000
HEAD_CHARS = 200
LIST_LIMIT = 50
LIST_HEAD = 10
DEPTH_LIMIT = 12
LEAF_LIMIT = 400
KEY_LIMIT = 200
SCHEMA_LIST_LIMIT = 1000
SCHEMA_LEAF_LIMIT = 5000
SCHEMA_DEPTH_LIMIT = 40

_SCALARS = frozenset({int, float, bool, type(None)})
_plain_keys: set[str] = set()
_PLAIN_KEYS_LIMIT = 4096
_SCHEMA_VALUES = frozenset({"default", "const", "enum", "example", "examples"})


class Redacted(NamedTuple):
    """Canonical arguments; `paths` (`a.b[].c`) name the leaves, or branches, that were redacted or cut, in order."""

    value: Any
    paths: tuple[str, ...]


def canonical(arguments: Mapping[str, Any], *, email: bool = False) -> Redacted:
    """Return a copy of the arguments that may be stored: large values cut, then secrets hidden. Pure.

    What is cut becomes `{"$cut": its full length, "head": what is kept}`. A value whose key announces a secret becomes
    `"[redacted:key]"`, whatever its type; other strings, and keys, go through `redact_text`.
    """
    if _is_plain(arguments, email=email):
        return Redacted(dict(arguments), ())
    walk = _Walk(email=email)
    value = walk.mapping(arguments, "", 1)
    return Redacted(value, tuple(dict.fromkeys(walk.paths)))


def canonical_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a JSON Schema that may be stored: larger than arguments may be, and a key hides no value.

    A property called `password` is kept; its default, its examples and its other values are hidden.
    """
    return _Schema(email=False).mapping(schema, "", 1)


def _is_plain(arguments: Mapping[str, Any], *, email: bool) -> bool:
    """Whether there is nothing to cut or hide, as far as a quick look at a flat object tells."""
    texts = []
    for key, item in arguments.items():
        kind = type(item)
        if kind is str:
            if len(item) > STRING_LIMIT:
                return False
            texts.append(item)
        elif kind not in _SCALARS:
            return False
        if key not in _plain_keys and not _learn_plain_key(key):
            return False
    return len(arguments) <= LEAF_LIMIT and not suspicious("\n".join(texts), email=email)


def _learn_plain_key(key: str) -> bool:
    if len(key) > KEY_LIMIT or secrecy(key) or redact_text(key, email=True) != key:
        return False
    if len(_plain_keys) >= _PLAIN_KEYS_LIMIT:
        _plain_keys.clear()
    _plain_keys.add(key)
    return True


class _Walk:
    """One pass over arguments that are not plain."""

    __slots__ = ("_email", "_leaves", "paths")

    list_limit = LIST_LIMIT
    leaf_limit = LEAF_LIMIT
    depth_limit = DEPTH_LIMIT

    def __init__(self, *, email: bool) -> None:
        self.paths: list[str] = []
        self._email = email
        self._leaves = 0

    def mapping(self, value: Mapping[str, Any], path: str, depth: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        if depth > self.depth_limit:
            return self._cut(path, len(value), kept)
        for key, item in value.items():
            if self._leaves >= self.leaf_limit:
                return self._cut(path, len(value), kept)
            name = self._key(key)
            while name in kept:
                name += "'"
            here = f"{path}.{name}" if path else name
            kept[name] = self._hide(here) if self._is_secret(value, key, item) else self._any(item, here, depth)
        return kept

    def _is_secret(self, holder: Mapping[str, Any], key: str, item: Any) -> bool:
        if is_secret_value(key, item):
            return True
        # A variable in parts: {"name": "API_KEY", "value": "..."}.
        label = holder.get("name", holder.get("key")) if key == "value" else None
        return isinstance(label, str) and is_secret_value(label, item)

    def _sequence(self, value: Sequence[Any], path: str, depth: int) -> list[Any] | dict[str, Any]:
        kept: list[Any] = []
        if depth > self.depth_limit:
            return self._cut(path, len(value), kept)
        here = f"{path}[]"
        before: Any = None
        for item in value[:LIST_HEAD] if len(value) > self.list_limit else value:
            if self._leaves >= self.leaf_limit:
                break
            # A command line in parts: ["--password", "..."].
            flag = isinstance(before, str) and before.startswith("-") and "=" not in before
            hidden = flag and isinstance(item, str) and is_secret_value(before, item)
            kept.append(self._hide(here) if hidden else self._any(item, here, depth))
            before = item
        return kept if len(kept) == len(value) else self._cut(path, len(value), kept)

    def _any(self, value: Any, path: str, depth: int) -> Any:
        if isinstance(value, Mapping):
            return self.mapping(value, path, depth + 1)
        if isinstance(value, list | tuple):
            return self._sequence(value, path, depth + 1)
        self._leaves += 1
        if not isinstance(value, str):
            return value
        if len(value) > STRING_LIMIT:
            return self._cut(path, len(value), redact_text(value, email=self._email, limit=HEAD_CHARS))
        text = redact_text(value, email=self._email)
        if text != value:
            self.paths.append(path)
        return text

    def _key(self, key: str) -> str:
        if key in _plain_keys:
            return key
        return redact_text(key, email=self._email, limit=KEY_LIMIT)

    def _hide(self, path: str) -> str:
        self._leaves += 1
        self.paths.append(path)
        return "[redacted:key]"

    def _cut(self, path: str, length: int, head: Any) -> dict[str, Any]:
        self.paths.append(path)
        return {"$cut": length, "head": head}


class _Schema(_Walk):
    """The same for a JSON Schema, whose keys name parameters and say nothing of the values beside them."""

    __slots__ = ("_guarded",)
    list_limit = SCHEMA_LIST_LIMIT
    leaf_limit = SCHEMA_LEAF_LIMIT
    depth_limit = SCHEMA_DEPTH_LIMIT

    def __init__(self, *, email: bool) -> None:
        super().__init__(email=email)
        self._guarded: set[int] = set()

    def _is_secret(self, holder: Mapping[str, Any], key: str, item: Any) -> bool:
        if isinstance(item, Mapping) and secrecy(key):
            self._guarded.add(id(item))
        return key in _SCHEMA_VALUES and id(holder) in self._guarded
