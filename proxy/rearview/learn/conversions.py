"""Mechanical conversions of a value that failed into the form that works; None wherever a guess would be needed."""

import posixpath
import re
from collections.abc import Sequence
from typing import Any

import orjson

from rearview.learn.dates import in_form
from rearview.learn.values import climbs

_NUMBER = re.compile(r"[+-]?(?:\d{1,15}|\d{0,15}\.\d{1,15})")
_JSON_CHARS = 2000
_PATH_CHARS = 400


def to_form(value: Any, form: str) -> str | None:
    """A text or number rewritten as a mask (`####-##-##`) or value class (`date`, `time`, `unix`) has it."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    converted = in_form(str(value), form)
    return None if converted == value else converted


def to_absolute(value: Any, base: str) -> str | None:
    """A relative path below `base`; None if it leaves it, or may already count from a folder above it."""
    if not isinstance(value, str) or not base.startswith("/") or len(value) > _PATH_CHARS:
        return None
    path = plain_path(value)
    if not path or path[0] in "/~" or ":" in path or "\n" in path:
        return None
    base = posixpath.normpath(base)
    whole = posixpath.normpath(posixpath.join(base, path))
    if whole != base and not whole.startswith(base.rstrip("/") + "/"):
        return None
    return None if path.split("/")[0] == posixpath.basename(base) else whole


def plain_path(value: str) -> str:
    """A path without `file://`, and with slashes where it had backslashes (not a Windows drive path)."""
    if value[:7].lower() == "file://":
        # A percent sign may be an escape or a part of the name, so such a URL stays as it is.
        value = value if "%" in value else "/" + value[7:].removeprefix("localhost").lstrip("/")
    if "\\" in value and "/" not in value and value[1:2] != ":":
        value = value.replace("\\", "/")
    return value


def to_path(value: Any, form: str) -> str | None:
    """A `file://` URL or backslash path as a plain one, or (form `relpath`) one without leading slash and detours.

    None for a path that leads out of its folder, or starts in a home: nobody knows how to write these otherwise.
    """
    if not isinstance(value, str) or not value or len(value) > _PATH_CHARS:
        return None
    path = plain_path(value)
    if form == "relpath":
        path = _straight(path.lstrip("/") if path[:1] == "/" else path.removeprefix("./"))
    elif form == "abspath" and path[:1] != "/":
        return None
    return path if path and path != value else None


def _straight(path: str) -> str:
    if path[:1] == "~" or climbs(path):
        return ""
    return posixpath.normpath(path) if "/../" in path else path


def to_type(value: Any, wanted: str) -> Any:
    """`value` as JSON Schema type `wanted`; None when that takes more than another notation."""
    if wanted == "array":
        return _to_list(value)
    if isinstance(value, list):
        return _to_item(value, wanted)
    if wanted == "string":
        return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if not isinstance(value, str):
        return int(value) if wanted == "integer" and isinstance(value, float) and value.is_integer() else None
    if wanted == "object":
        return _from_json(value, dict)
    return (
        {"true": True, "false": False}.get(value.strip().lower()) if wanted == "boolean" else _to_number(value, wanted)
    )


def _to_item(items: list[Any], wanted: str) -> Any:
    """What a list of one holds, where one is wanted."""
    item = items[0] if len(items) == 1 else None
    if isinstance(item, list):
        return None
    return item if _is_a(item, wanted) else to_type(item, wanted)


def _is_a(item: Any, wanted: str) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {
        "string": str, "boolean": bool, "integer": int, "number": (int, float), "object": dict,
    }  # fmt: skip
    kind = kinds.get(wanted)
    return kind is not None and isinstance(item, kind) and (wanted == "boolean" or not isinstance(item, bool))


def _to_number(text: str, wanted: str) -> int | float | None:
    text = text.strip()
    if wanted not in ("number", "integer") or not _NUMBER.fullmatch(text):
        return None
    number = float(text) if "." in text else int(text)
    return number if wanted == "number" or isinstance(number, int) else None


def _to_list(value: Any) -> list[Any] | None:
    if isinstance(value, (list, type(None))):
        return None
    if not isinstance(value, str):
        return [value]
    text = value.strip()
    if text[:1] == "[":
        items: list[Any] | None = _from_json(text, list)
        return items
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1 and all(part and " " not in part for part in parts):
        return parts
    return [value] if text and len(parts) == 1 and "\n" not in text else None


def _from_json(text: str, kind: type) -> Any:
    if len(text) > _JSON_CHARS:
        return None
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, kind) else None


def to_member(value: Any, members: Sequence[Any]) -> Any:
    """The one enum member that differs from `value` in case, blanks, `_` or `-` only, or in being a number."""
    fitting = [member for member in members[:200] if _folded(member) == _folded(value)]
    return fitting[0] if len(fitting) == 1 and fitting[0] != value else None


def _folded(value: Any) -> str:
    return re.sub(r"[\s_\-]+", "", str(value)).casefold()
