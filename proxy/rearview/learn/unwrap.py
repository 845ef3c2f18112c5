"""The message inside an error text: JSON, routers and SDK prefixes taken off."""

# ruff: noqa: RUF001 (a Chinese colon is meant)

import re
from functools import cache
from typing import Any

from rearview.learn.openings import error_behind_banner
from rearview.learn.signs import json_of

_DEPTH_LIMIT = 5
_ISSUES_LIMIT = 8
_FIELD_NAMES = """
code error_code errcode type name title message msg error_message errmsg detail reason description error errors issues
stderr
"""
_FIELDS = tuple(_FIELD_NAMES.split())
_EMPTY = (None, "", False, 0, "text", "error")
_INNER = ("result", "response", "output", "text", "body", "data")
_LEAD_CHARS = 120
_TRACE_LINES = 200
_EXCEPTION = r"[\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Iteration)(?:\b|$)"
_JSON_START = r"(?:\[\s*\{|\{\s*\")"
_BROKEN = r'"(?:message|msg|error|detail|errmsg)"\s*:\s*"((?:[^"\\]|\\.){1,600})'
_PREFIX = r"""
    (?: [\s#*>!\-]+
    | mcp\ error\ -?\d+ | error\ executing\ tool\ \S+? | tool\ (?:call|execution)\ (?:failed|error)
    | error\ (?:calling|running|invoking|in)\ (?:tool\ )?['"`]?[\w.\-]+['"`]?
    | (?:input\ |output\ )?validation\ error(?=:) | invalid\ arguments\ for\ (?:tool\ )?['"`]?[\w.\-/]+['"`]?
    | browserBackend\.callTool | error(?=\s*[:\n]|\*\*) | 错误 | tool\ error
    | [\N{CROSS MARK}\N{HEAVY MULTIPLICATION X}]
    ) [ \t]* (?: [:：]\s* | \s*\n\s* | \*+ | (?<=[\s#*>!\-]) | (?<=[\N{CROSS MARK}\N{HEAVY MULTIPLICATION X}]) )
"""


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


def message_of(text: str) -> str:
    """What `text` reports, without JSON and SDK prefixes; a JSON text that was cut is searched for its message."""
    for _ in range(_DEPTH_LIMIT):
        before = text
        text = without_prefixes(_told_by_a_shell(text))
        lead, value = _json_at_the_end(text)
        if value is not None:
            told = _told(value, _DEPTH_LIMIT)
            text = lead + told if told else text
        elif text[:1] in ("{", "["):
            found = _regex(_BROKEN.replace(" ", "\\ ")).search(text[:4000])
            text = found[1].replace('\\"', '"').replace("\\n", "\n") if found else text
        if text == before:
            break
    return text


def _json_at_the_end(text: str) -> tuple[str, Any]:
    """JSON as the whole text or behind a few words ("Invalid input: [...]"), and those words."""
    value = json_of(text)
    if value is not None:
        return "", value
    start = _regex(_JSON_START).search(text[:_LEAD_CHARS])
    if start is None:
        return "", None
    return text[: start.start()], json_of(text[start.start() :].rstrip())


def _told_by_a_shell(text: str) -> str:
    """The last exception of a Python traceback, else the error line behind a banner such as "Output:"."""
    if "Traceback (most recent" in text:
        trace = text.rpartition("Traceback (most recent")[2].split("\n", _TRACE_LINES)[1:]
        ends = [line for line in trace if line.strip() and line[0] not in " \t"]
        raised = [line for line in ends if _regex(_EXCEPTION).match(line)]
        return raised[-1] if raised else ends[0] if ends else text
    return error_behind_banner(text) or text


def without_prefixes(text: str) -> str:
    """Drop what SDKs and routers put before every message."""
    prefix = _regex(_PREFIX)
    for _ in range(12):
        found = prefix.match(text)
        if not found or found.end() >= len(text) or not found.end():
            break
        text = text[found.end() :]
    return text


def _told(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return value
    if depth <= 0:
        return ""
    if isinstance(value, list):
        told = [_told(item, depth - 1) for item in value[:_ISSUES_LIMIT]]
        return "; ".join(dict.fromkeys(part for part in told if part))
    if not isinstance(value, dict):
        return ""
    parts = [_field(value[name], depth) for name in _FIELDS if value.get(name) not in _EMPTY]
    where = value.get("path") or value.get("loc")
    if isinstance(where, list) and where and parts:
        parts.append("at " + path_of(where))
    if not parts:
        parts = [_told(value.get(name), depth - 1) for name in _INNER]
        parts.append(_told(value.get("content"), depth - 1))
    return ": ".join(dict.fromkeys(part for part in parts if part))


def _field(value: Any, depth: int) -> str:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    return _told(value, depth - 1)


def path_of(parts: list[Any]) -> str:
    """`["files", 0, "content"]` as `files[].content`."""
    path = ""
    for part in parts[:8]:
        if isinstance(part, int):
            path += "[]"
        else:
            path += f".{part}" if path else str(part)
    return path
