"""Header fields that repeat parts of the body (2026-07-28): who reads the body has to refuse what does not agree.

What stands between routes and permits by the fields alone; a server that went by another body would undo that.
"""

import re

from rearview.core.calls import MODERN_KEY
from rearview.core.message import JsonObject
from rearview.transports.http_fields import NAMED_BY, TASKS, Parameter, argument, decoded, written
from rearview.transports.http_heads import Headers, field
from rearview.transports.http_media import VERSION

MISMATCH = -32020
INVALID_PARAMS = -32602
METHOD = b"mcp-method"
NAME = b"mcp-name"
_DECIMAL = re.compile(r"-?[0-9]+(\.0+)?")

# The JSON-RPC errors that the transport has to tell in the status, too.
_STATUS = {-32700: 400, -32600: 400, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32601: 404}


def status_of(body: JsonObject) -> int:
    """Return the HTTP status for an answer."""
    error = body.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return _STATUS.get(code, 200) if type(code) is int else 200


def objection(headers: Headers, message: JsonObject) -> tuple[int, str] | None:
    """Return code and reason to refuse a request whose head and body do not agree."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(meta, dict) or MODERN_KEY not in meta:
        return INVALID_PARAMS, f"params._meta has to be an object with {MODERN_KEY}"
    names = [name.lower() for name, _ in headers]
    for name in (VERSION, METHOD, NAME):
        if names.count(name) > 1:
            return MISMATCH, f"the field {name.decode()} stands there twice"
    if decoded(field(headers, VERSION)) != meta[MODERN_KEY]:
        return MISMATCH, "MCP-Protocol-Version does not say what the body says"
    if decoded(field(headers, METHOD)) != message.get("method"):
        return MISMATCH, "Mcp-Method does not say what the body says"
    method = f"{message.get('method')}"
    # Of tasks, an extension, some methods are named by their task and some are not.
    by = "taskId" if method.startswith(TASKS) and NAME in names else NAMED_BY.get(method, "")
    named = params.get(by)
    if named is not None and decoded(field(headers, NAME)) != named:
        return MISMATCH, "Mcp-Name does not say what the body says"
    return None


def disagreement(headers: Headers, arguments: object, wanted: list[Parameter]) -> str:
    """Return which `Mcp-Param-…` does not say what the argument says; empty if all agree."""
    for parameter in wanted:
        name = f"Mcp-Param-{parameter.field}"
        told = [value for key, value in headers if key.lower() == name.lower().encode()]
        value = argument(arguments, parameter.path)
        text = written(value)
        if len(told) > 1:
            return f"the field {name} stands there twice"
        if bool(told) != (text is not None):
            return f"only one of {name} and the argument {'.'.join(parameter.path)} is there"
        if told and text is not None and not _same(decoded(told[0]), text, value, parameter.kind):
            return f"{name} does not say what the argument {'.'.join(parameter.path)} says"
    return ""


def _same(told: str | None, text: str, value: object, kind: object) -> bool:
    if told is not None and kind == "integer" and isinstance(value, int | float) and _DECIMAL.fullmatch(told):
        return int(told.partition(".")[0]) == value
    return told == text
