"""The only place that encodes: answers of our own, and a sentence spliced into a failed reply."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from rearview.core.jsonspan import locate
from rearview.core.message import JsonObject

META_KEY = "dev.rearview/lesson"
"""Our key under `_meta`; the protocol wants a reverse-DNS prefix that is not its own."""

SERVER_GONE = -31990
"""JSON-RPC code for a call whose server ended; the specification reserves -32768 to -32000."""

HINT_LIMIT_BYTES = 64 * 2**10


def held_result(message_id: Any, text: str, *, modern: bool, meta: Mapping[str, Any]) -> bytes:
    """Return a `tools/call` result that says `text` and nothing else.

    One text block, `isError`, no `structuredContent`: the one form that passes output validation in every SDK and that
    every client shows to its model. `resultType` is required from 2026-07-28 on and unknown before.
    """
    result: JsonObject = {"content": [{"type": "text", "text": text}], "isError": True, "_meta": {META_KEY: dict(meta)}}
    if modern:
        result["resultType"] = "complete"
    return encode({"jsonrpc": "2.0", "id": message_id, "result": result})


def error_answer(message_id: Any, text: str, data: Mapping[str, Any]) -> bytes:
    """Return a JSON-RPC error for a request that can't be answered any more."""
    error = {"code": SERVER_GONE, "message": text, "data": dict(data)}
    known = None if isinstance(message_id, float) and not isfinite(message_id) else message_id
    return encode({"jsonrpc": "2.0", "id": known, "error": error})


def encode(body: JsonObject) -> bytes:
    """Return `body` as one line. The standard library keeps big integers and lone surrogates."""
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def with_hint(line: bytes, body: JsonObject, text: str, *, has_output_schema: bool) -> bytes | None:
    """Return `line`, a failed reply, with `text` in it, or `None` where the reply's form leaves no place for it.

    `body` is `line` decoded. Every byte outside the place of the hint stays.
    """
    if len(line) > HINT_LIMIT_BYTES:
        return None
    if "error" in body:
        return _appended(line, ("error", "message"), text)
    result = body.get("result")
    if not isinstance(result, dict) or result.get("structuredContent") is not None:
        return None
    if result.get("isError") is not True:
        return None if has_output_schema else _one_more_block(line, text)
    content = result.get("content")
    first = content[0] if isinstance(content, list) and content else None
    said = first.get("text") if isinstance(first, dict) and first.get("type") == "text" else None
    if isinstance(said, str) and not _is_json(said):
        return _appended(line, ("result", "content", 0, "text"), text)
    return _one_more_block(line, text)


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _appended(line: bytes, path: tuple[str | int, ...], text: str) -> bytes | None:
    span = locate(line, path)
    if span is None or line[span[0] : span[0] + 1] != b'"':
        return None
    close = span[1] - 1
    return line[:close] + json.dumps("\n\n" + text)[1:-1].encode() + line[close:]


def _one_more_block(line: bytes, text: str) -> bytes | None:
    span = locate(line, ("result", "content"))
    if span is None or line[span[0] : span[0] + 1] != b"[":
        return None
    close = span[1] - 1
    empty = not line[span[0] + 1 : close].strip()
    block = json.dumps({"type": "text", "text": text}, separators=(",", ":")).encode()
    return line[:close] + (b"" if empty else b",") + block + line[close:]
