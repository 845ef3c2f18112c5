"""Signs of failure inside a result that claims success: what its JSON says, and how its text starts."""

from typing import Any

import orjson

from rearview.learn.openings import starts_as_error

JSON_LIMIT_CHARS = 64 * 1024
DEPTH_LIMIT = 4

# Longer JSON is parsed only when it holds one of these: a failure is seldom long.
_SMALL_CHARS = 4096
_HINTS = ('"error', '"success"', '"isError"', '"ok"', '"status', '"content"')
_MESSAGES = ("message", "msg", "detail", "error_message", "errmsg", "reason", "title", "description")
_INNER = ("result", "response", "output", "data", "text", "body")
_FEW_KEYS = 3
_MESSAGE_KEYS = 6
_STATUS_KEYS = 4
_HTTP_ERRORS = range(400, 600)
_RPC_ERRORS = range(-32999, 0)
_FAILED_STATES = frozenset({"fail", "failed", "failure"})


def json_of(text: str) -> Any:
    """The JSON that a text is, or None; only an object or array of at most 64 KiB is tried."""
    if len(text) > JSON_LIMIT_CHARS or text[:64].lstrip()[:1] not in ("{", "["):
        return None
    try:
        return orjson.loads(text)
    except (ValueError, RecursionError):
        return None


def text_fails(text: str, depth: int = DEPTH_LIMIT) -> bool:
    """Whether a text says failure: read as JSON if it is JSON, else by how it starts."""
    if text[:1] in ("{", "[") and depth > 0:
        if len(text) > _SMALL_CHARS and not any(hint in text for hint in _HINTS):
            return False
        value = json_of(text)
        if value is not None:
            return says_failure(value, depth - 1)
    return starts_as_error(text)


def says_failure(value: Any, depth: int = DEPTH_LIMIT) -> bool:
    """Whether decoded JSON carries a structured sign of failure; looks into routers and JSON in text, to a depth."""
    if type(value) is list:
        return len(value) == 1 and depth > 0 and says_failure(value[0], depth - 1)
    if type(value) is not dict or not value:
        return False
    worked = value.get("success", value.get("ok"))
    if worked is False or worked == "false" or value.get("isError") is True:
        return True
    if worked is True:
        return False
    return _states_error(value) or _states_status(value) or (depth > 0 and _holds_failure(value, depth - 1))


def _states_error(value: dict[str, Any]) -> bool:
    error = value.get("error") or value.get("Error")
    if isinstance(error, str):
        return error.strip().lower() not in ("", "none", "null", "false", "no") and not _is_data(value, error)
    if isinstance(error, dict):
        return any(error.get(name) for name in (*_MESSAGES, "code", "type"))
    if error is True or (isinstance(error, list) and error):
        return True
    errors = value.get("errors")
    if isinstance(errors, list) and errors and not value.get("data"):
        return value.keys() <= {"errors", "data", "extensions", "message", "status", "code", "error", "request_id"}
    return bool(value.get("errcode")) and "errmsg" in value


def _is_data(value: dict[str, Any], error: str) -> bool:
    """A palette such as `{"error": "#f00", "warning": "#fa0"}` names its entries, it reports nothing."""
    return error.startswith("#") or ("warning" in value and "info" in value)


def _states_status(value: dict[str, Any]) -> bool:
    status = value.get("status")
    told = any(value.get(name) for name in _MESSAGES)
    if isinstance(status, str):
        state = status.strip().lower()
        return state == "error" or (state in _FAILED_STATES and told and len(value) <= _STATUS_KEYS)
    if not told or len(value) > _MESSAGE_KEYS:
        return False
    for code in (status, value.get("statusCode"), value.get("status_code"), value.get("code")):
        if type(code) is int and (code in _HTTP_ERRORS or code in _RPC_ERRORS):
            return True
    return bool(value.get("exit_code") or value.get("exitCode")) and bool(value.get("stderr"))


def _holds_failure(value: dict[str, Any], depth: int) -> bool:
    blocks = value.get("content")
    if isinstance(blocks, list) and blocks and isinstance(blocks[0], dict) and "type" in blocks[0]:
        text = blocks[0].get("text")
        return isinstance(text, str) and text_fails(text, depth)
    if len(value) > _FEW_KEYS:
        return False
    for name in (*_INNER, *_MESSAGES[:3]):
        inner = value.get(name)
        if isinstance(inner, str) and text_fails(inner, depth):
            return len(value) == 1 or inner[:1] in ("{", "[") or name in _MESSAGES
        if isinstance(inner, dict) and name in _INNER[:2] and says_failure(inner, depth):
            return True
    return False
