"""One look at a line: what kind of JSON-RPC message it is."""

import json
from typing import Any

import orjson

JsonObject = dict[str, Any]


def look(line: bytes) -> JsonObject | None:
    """Return the JSON-RPC message in `line`, or `None` for all that is not one JSON object.

    Only for looking: integers beyond 64 bits come back as floats. A message that orjson refuses (lone surrogates, NaN,
    deep nesting) gets a second look with the standard library. Batches, banners and broken JSON are `None`.
    """
    try:
        body = orjson.loads(line)
    except orjson.JSONDecodeError:
        return _second_look(line)
    return body if type(body) is dict else None


def look_at_batch(line: bytes) -> list[JsonObject]:
    """Return the messages of a JSON-RPC batch (2025-03-26); empty for anything else."""
    if line.lstrip()[:1] != b"[":
        return []
    try:
        parts = orjson.loads(line)
    except orjson.JSONDecodeError:
        return []
    return [part for part in parts if type(part) is dict] if type(parts) is list else []


def _second_look(line: bytes) -> JsonObject | None:
    text = line.strip()
    if not (text.startswith(b"{") and text.endswith(b"}")):
        return None
    try:
        body = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return body if type(body) is dict else None


def exact_id(line: bytes, seen: Any) -> Any:
    """Return the id of the message in `line` without orjson's loss: a 30-digit integer stays one."""
    if type(seen) is not float:
        return seen
    body = _second_look(line)
    return body.get("id") if body else seen


def id_key(message_id: Any) -> Any:
    """Return a dictionary key that tells `7`, `"7"`, `7.0` and `true` apart."""
    if type(message_id) is int or type(message_id) is str:
        return message_id
    return (type(message_id).__name__, repr(message_id))


def may_be_message(line: bytes) -> bool:
    """Tell whether a server's line can be JSON-RPC: it begins with `{`, or with `[` and then `{` or `]`, blanks aside.

    So `[INFO] ready` is noise, and a batch is not.
    """
    if line[:1] == b"{":
        return True
    head = line.lstrip()
    return head[:1] == b"{" or (head[:1] == b"[" and head[1:].lstrip()[:1] in {b"{", b"]"})
