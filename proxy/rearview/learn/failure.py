"""Whether an exchange failed, how sure that is, and why."""

from collections.abc import Mapping
from typing import Any

import orjson

from rearview.learn.kinds import kind_of
from rearview.learn.openings import opens_plainly
from rearview.learn.refusals import refused_by_user
from rearview.learn.signs import says_failure, text_fails
from rearview.learn.unwrap import message_of
from rearview_interceptors.api import TEXT_LIMIT_CHARS, Grade, Kind

__all__ = ["kind_of", "outcome_of"]

# Looking a member up in its class takes a tenth of the time that a success may take.
_OK = Grade.OK
# Request cancelled, and "the user has to visit a page first": the call is not over.
# A header or a protocol version that does not fit (2026-07-28) is the client's own affair, whatever the call was.
_NOT_OUTCOMES = frozenset({-32800, -32042, -32020, -32021, -32022})


def outcome_of(body: Mapping[str, Any]) -> tuple[Grade, Kind | None, str]:
    """Grade, kind and text of a decoded JSON-RPC reply; the kind is None unless it failed. Never raises.

    An answer that only looks like an error (an echo of "Error: ...") is graded soft: one reply can't tell. One that
    says that the user refused the call is no outcome: the call never ran, and may be let through the next time.
    """
    result = body.get("result")
    if type(result) is dict and "error" not in body:
        # The usual answer is a text that is clear at a glance, and nothing else that could tell of a failure.
        content = result.get("content")
        if type(content) is list and content and type(content[0]) is dict:
            text = content[0].get("text")
            if (
                type(text) is str
                and "structuredContent" not in result
                and result.get("isError") is not True
                and result.get("resultType", "complete") == "complete"
                and opens_plainly(text)
            ):
                return _OK, None, text if len(text) <= TEXT_LIMIT_CHARS else text[:TEXT_LIMIT_CHARS]
    error = body.get("error")
    if error is not None:
        return _of_error(error)
    if type(result) is not dict or result.get("resultType", "complete") != "complete":
        return Grade.UNKNOWN, None, ""
    content = result.get("content")
    if not content and type(result.get("task")) is dict:
        return Grade.UNKNOWN, None, ""
    text = _first_text(content)
    structured = result.get("structuredContent")
    if result.get("isError") is True:
        grade = Grade.FLAGGED
    elif (structured and says_failure(structured)) or (text and text_fails(text)):
        grade = Grade.SOFT
    else:
        return _OK, None, text[:TEXT_LIMIT_CHARS]
    text = text or _as_text(structured)
    return _failed(grade, text)


def _of_error(error: Any) -> tuple[Grade, Kind | None, str]:
    if not isinstance(error, dict):
        text = error if isinstance(error, str) else _as_text(error)
        return Grade.HARD, kind_of(text, Grade.HARD), text[:TEXT_LIMIT_CHARS]
    code = error.get("code")
    code = code if type(code) is int else None
    if code in _NOT_OUTCOMES:
        return Grade.UNKNOWN, None, ""
    message = error.get("message")
    text = message if isinstance(message, str) and message else _as_text(error.get("data"))
    return _failed(Grade.HARD, text, code)


def _failed(grade: Grade, text: str, code: int | None = None) -> tuple[Grade, Kind | None, str]:
    if refused_by_user(message_of(text[:TEXT_LIMIT_CHARS])):
        return Grade.UNKNOWN, None, ""
    return grade, kind_of(text, grade, code), text[:TEXT_LIMIT_CHARS]


def _first_text(content: Any) -> str:
    if type(content) is not list:
        return ""
    for block in content:
        if type(block) is dict and type(text := block.get("text")) is str:
            return text
    return ""


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        return str(value)[:TEXT_LIMIT_CHARS]
