"""What stands around the text of a server's plain answers, so that the next of them need not be decoded.

Nearly every answer is one text and nothing else, and a server writes all of them alike but for id and text. To decode
one only to find that it says nothing of interest would be a third of what a call costs on its way back.
"""

from typing import Any

from orjson import JSONDecodeError, loads

from rearview.core.jsonspan import locate
from rearview.core.message import JsonObject

ANSWER_BYTES = 4096
"""Longer answers are decoded: what is kept of them is cut, which takes decoding anyway."""

ATTEMPTS = 16
"""A server that writes its answers in many ways is not worth more."""

_QUOTATION_MARK = 34
_TEXT = ("result", "content", 0, "text")
_HARMLESS = frozenset({"content", "isError", "_meta", "resultType"})


class Envelope:
    """The bytes before, between and after id and text of the last plain answer that was decoded."""

    __slots__ = ("_after", "_after_at", "_attempts", "_before", "_before_end", "_between", "_text_first")

    def __init__(self) -> None:
        self._attempts = ATTEMPTS
        self._set(b"\n", b"\n", b"\n", text_first=False)

    def _set(self, before: bytes, between: bytes, after: bytes, *, text_first: bool) -> None:
        self._before, self._before_end = before, len(before)
        self._between = between
        self._after, self._after_at = after, -len(after)
        self._text_first = text_first

    def forget(self) -> None:
        """Decode the next answer."""
        self._set(b"\n", b"\n", b"\n", text_first=False)

    def open(self, line: bytes) -> tuple[Any, bytes] | None:
        """Return the id of an answer that is written like the last one, and the inside of its text's JSON string.

        That inside is as it came, perhaps no valid JSON. For all other lines, `None`.
        """
        first, _, second = line.partition(self._between)
        after_at, before_end = self._after_at, self._before_end
        if second[after_at:] != self._after or first[:before_end] != self._before:
            return None
        message_id, quote = first[before_end:], second[:after_at]
        if self._text_first:
            message_id, quote = quote, message_id
        if _QUOTATION_MARK in quote:
            # The text ends there, or has one in it.
            return None
        try:
            key = loads(message_id)
        except JSONDecodeError:
            return None
        return (key, quote) if type(key) is int or type(key) is str else None

    def learn(self, line: bytes, body: JsonObject) -> None:
        """Note how `line` is written, which has been decoded to `body`, if it is a plain answer."""
        if self._attempts <= 0 or len(line) > ANSWER_BYTES or not _is_plain(body):
            return
        self._attempts -= 1
        message_id, text = locate(line, ("id",)), locate(line, _TEXT)
        if message_id is None or text is None or loads(line[slice(*message_id)]) != body["id"]:
            return
        quote = (text[0] + 1, text[1] - 1)
        first, second = sorted((message_id, quote))
        before, between, after = line[: first[0]], line[first[1] : second[0]], line[second[1] :]
        self._set(before, between, after, text_first=quote < message_id)


def _is_plain(body: JsonObject) -> bool:
    result = body.get("result")
    if body.keys() != {"jsonrpc", "id", "result"} or type(result) is not dict or not result.keys() <= _HARMLESS:
        return False
    content = result.get("content")
    if type(content) is not list or len(content) != 1 or type(content[0]) is not dict:
        return False
    is_text = content[0].keys() == {"type", "text"} and type(content[0]["text"]) is str
    return is_text and result.get("isError", False) is False and result.get("resultType", "complete") == "complete"
