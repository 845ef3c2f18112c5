"""Finds where a value stands in the bytes of a JSON document, so that it can be changed without touching the rest."""

import re

_BLANK = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]\}]+")
_NEXT = re.compile(rb'["\[\]{}]')

Span = tuple[int, int]


def locate(raw: bytes, path: tuple[str | int, ...]) -> Span | None:
    """Return the span of the value at `path` (object keys and array positions), `None` where there is none.

    Of a key that stands twice the last one counts, as in every JSON parser we know. `raw` must be valid JSON; on other
    input the answer is `None` or meaningless, never an exception.
    """
    try:
        start = _blank(raw, 0)
        for part in path:
            found = _member(raw, start, part) if isinstance(part, str) else _item(raw, start, part)
            if found is None:
                return None
            start = found
        return start, _end(raw, start)
    except (IndexError, ValueError):
        return None


def _blank(raw: bytes, at: int) -> int:
    match = _BLANK.match(raw, at)
    return match.end() if match else at


def _end(raw: bytes, at: int) -> int:
    """Return where the value that starts at `at` ends."""
    if raw[at : at + 1] == b'"':
        return _string_end(raw, at)
    if raw[at : at + 1] not in {b"{", b"["}:
        match = _SCALAR.match(raw, at)
        if not match:
            raise ValueError
        return match.end()
    depth = 0
    while True:
        match = _NEXT.search(raw, at)
        if not match:
            raise ValueError
        sign = match.group()
        at = match.end()
        if sign == b'"':
            at = _string_end(raw, at - 1)
        elif sign in b"[{":
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return at


def _string_end(raw: bytes, at: int) -> int:
    match = _STRING.match(raw, at)
    if not match:
        raise ValueError
    return match.end()


def _member(raw: bytes, at: int, key: str) -> int | None:
    if raw[at : at + 1] != b"{":
        return None
    found = None
    at = _blank(raw, at + 1)
    while raw[at : at + 1] != b"}":
        key_end = _string_end(raw, at)
        value = _blank(raw, _blank(raw, key_end) + 1)
        if _same_key(raw[at:key_end], key):
            found = value
        at = _after_comma(raw, _end(raw, value))
    return found


def _same_key(literal: bytes, key: str) -> bool:
    # The keys we look for are plain words; one that is written with escapes is not worth a decoder.
    return literal[1:-1] == key.encode()


def _item(raw: bytes, at: int, position: int) -> int | None:
    if raw[at : at + 1] != b"[":
        return None
    at = _blank(raw, at + 1)
    while raw[at : at + 1] != b"]":
        if position == 0:
            return at
        position -= 1
        at = _after_comma(raw, _end(raw, at))
    return None


def _after_comma(raw: bytes, at: int) -> int:
    at = _blank(raw, at)
    if raw[at : at + 1] == b",":
        return _blank(raw, at + 1)
    if raw[at : at + 1] not in {b"}", b"]"}:
        raise ValueError
    return at
