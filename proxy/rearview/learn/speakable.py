"""Which parts of a call may be repeated to its agent, and by what class the others are called."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import orjson

from rearview.learn.identifiers import reads_as_order, safe_field
from rearview.learn.values import value_class

SHOWN_CHARS = 80
_SHOWN_ITEMS = 3
_DEPTH_LIMIT = 8

_PATH = re.compile(r"(?:[A-Za-z]:)?[\w./\\~@+\-]{1,200}")
_ID = re.compile(r"(?=[\w\-]*\d)[\w\-]{1,64}", re.ASCII)
_DATE_TIME = re.compile(r"[\d\-/.:TZ+ ]{4,40}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,63}(?:/[A-Za-z_][A-Za-z0-9_\-]{0,63}){0,4}", re.ASCII)
_MEMBER = re.compile(r"[A-Za-z0-9_\-]{1,30}(?: [A-Za-z0-9_\-]{1,30})?", re.ASCII)


def shown_value(value: Any) -> str | None:
    """`value` as it may be printed: a number, date, path, id or name of one word, or a short list of them; else None.

    Never free text, never more than 80 characters, no control characters, no backticks.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        text = str(value)
        return text if len(text) <= SHOWN_CHARS else None
    if isinstance(value, str):
        return value if _is_closed(value) else None
    if isinstance(value, list) and 0 < len(value) <= _SHOWN_ITEMS and all(shown_value(item) for item in value):
        text = orjson.dumps(value).decode()
        return text if len(text) <= SHOWN_CHARS and not isinstance(value[0], (list, dict)) else None
    return None


def shown_path(path: Any) -> str | None:
    """A path that may be printed; None with blanks in it, or with a part that reads like a sentence.

    Longer than other values may be: most of it is the folder that the user's own command names.
    """
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        return None
    return None if any(reads_as_order(part) for part in re.split(r"[/\\]", path)) else path


def shown_name(name: Any) -> str | None:
    """A name such as a table, a branch, a time zone: never a host, a flag or anything with blanks."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return None
    return None if reads_as_order(name) else name


def shown_member(member: Any) -> str | None:
    """An enum member of at most two words."""
    if isinstance(member, (int, float)) and not isinstance(member, bool):
        return shown_value(member)
    if not isinstance(member, str) or not _MEMBER.fullmatch(member):
        return None
    return None if reads_as_order(member) else member


def _is_closed(text: str) -> bool:
    if not text or len(text) > SHOWN_CHARS:
        return False
    if _DATE_TIME.fullmatch(text):
        return True
    return shown_path(text) is not None or (_ID.fullmatch(text) is not None and not reads_as_order(text))


def values_at(arguments: Any, path: str) -> list[Any]:
    """The values that stand at a path such as `edits[].oldText`, at most 20."""
    return list(islice(_at(arguments, path.split("."), 0), 20))


def _at(value: Any, keys: list[str], depth: int) -> Iterator[Any]:
    if not keys or depth > _DEPTH_LIMIT:
        yield value
        return
    key, *rest = keys
    name = key.rstrip("[]") if key.endswith("[]") else key
    if not isinstance(value, Mapping) or name not in value:
        return
    inner = [value[name]]
    for _ in range(key.count("[]")):
        inner = [item for items in inner if isinstance(items, list) for item in items[:20]]
    for item in inner:
        yield from _at(item, rest, depth + 1)


def shown_field(path: str, arguments: Any, schema: Mapping[str, Any] | None) -> str | None:
    """The path, if it is one of the agent's own arguments or of the schema, and plain enough to be repeated."""
    if not path or not safe_field(path):
        return None
    return path if values_at(arguments, path) or in_schema(path, schema) else None


def in_schema(path: str, schema: Any) -> bool:
    """Whether the schema has a key at this path (local references are not followed)."""
    for key in path.split("."):
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        name = key.replace("[]", "")
        if not isinstance(properties, Mapping) or name not in properties:
            return False
        schema = properties[name]
        for _ in range(key.count("[]")):
            schema = schema.get("items") if isinstance(schema, Mapping) else None
    return True


def class_at(arguments: Any, path: str) -> str:
    """Class of the value at a path (see `values.value_class`); empty when there is none, or they differ."""
    classes = {value_class(value) for value in values_at(arguments, path)}
    return classes.pop() if len(classes) == 1 else ""
