"""Header fields that repeat parts of the body (2026-07-28, Transports): which there are, and how values are written."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rearview.core.meeting import as_mapping

NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that `Mcp-Name` repeats, by method."""

TASKS = "tasks/"
"""Methods of the tasks extension begin so; those that have a name have their `taskId` for it."""

_PLAIN = re.compile(r"[\x20-\x7e]*")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


class Parameter(NamedTuple):
    """An argument that a tool's schema wants repeated: its path, the end of the field's name, and its JSON type."""

    path: tuple[str, ...]
    field: str
    kind: object


def parameters(tool: Mapping[str, Any]) -> list[Parameter]:
    """Return what the schema of a tool wants repeated (`x-mcp-header`); what can't name a field is left out."""
    return list(_annotated(tool.get("inputSchema"), ()))


def _annotated(schema: object, path: tuple[str, ...]) -> Iterator[Parameter]:
    for key, part in as_mapping(as_mapping(schema).get("properties")).items():
        value = as_mapping(part)
        name = value.get("x-mcp-header")
        if isinstance(name, str) and _TOKEN.fullmatch(name):
            yield Parameter((*path, key), name, value.get("type"))
        yield from _annotated(value, (*path, key))


def argument(arguments: object, path: tuple[str, ...]) -> object:
    """Return the argument at a path; `None` where there is none."""
    for key in path:
        arguments = as_mapping(arguments).get(key)
    return arguments


def written(value: object) -> str | None:
    """Return an argument as its field says it; `None` for what no field repeats."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def encoded(text: str) -> bytes:
    """Return the value of a field, as `=?base64?…?=` where the text can't stand there as it is."""
    odd = text != text.strip() or _ENCODED.fullmatch(text)
    if not odd and _PLAIN.fullmatch(text):
        return text.encode()
    return b"=?base64?" + base64.b64encode(text.encode("utf-8", "surrogatepass")) + b"?="


def decoded(value: bytes) -> str | None:
    """Return what a field says; `None` if it is encoded, and no base64 of UTF-8."""
    text = value.strip(b" \t").decode("latin-1")
    found = _ENCODED.fullmatch(text)
    if found is None:
        return text
    try:
        inside = base64.b64decode(found[1], validate=True)
        return inside.decode() if base64.b64encode(inside).decode() == found[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None
