"""Reads a stream of server-sent events (WHATWG HTML, 9.2.5) while its bytes go on as they come."""

import re
from typing import NamedTuple

EVENT_LIMIT_BYTES = 16 * 2**20
"""A longer event is passed on unread."""

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\r\n\n|\n\r\n")
_END_BYTES = 4
_LINE = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """One event: its raw bytes with the blank line, its type, and its data."""

    raw: bytes
    kind: bytes
    data: bytes
    is_single: bool
    """Whether the data is one line, so that it can be replaced."""
    id: bytes | None = None
    """Where to go on after this event, if it says so; empty means from nowhere."""
    retry_ms: int | None = None
    """How long to wait before coming back, if it says so."""


class EventReader:
    """Collects bytes until an event is whole."""

    __slots__ = ("_limit", "_rest", "_skipping")

    def __init__(self, limit: int = EVENT_LIMIT_BYTES) -> None:
        self._limit = limit
        self._rest = b""
        self._skipping = False

    @property
    def is_between(self) -> bool:
        """Whether all that came so far is whole events."""
        return not self._rest and not self._skipping

    @property
    def waiting(self) -> int:
        """How many bytes of an event that isn't whole yet are kept."""
        return len(self._rest)

    def receive(self, data: bytes) -> list[Event]:
        """Return the events that `data` completes."""
        rest = self._rest + data if self._rest else data
        events = []
        at = 0
        # What was there before has no end in it, but perhaps the beginning of one.
        found = _END.search(rest, max(0, len(self._rest) - _END_BYTES))
        while found:
            if self._skipping:
                self._skipping = False
            else:
                events.append(_event(rest[at : found.end()]))
            at = found.end()
            found = _END.search(rest, at)
        self._rest = rest[at:]
        if len(self._rest) > self._limit:
            # Its end may be cut in two here; what is lost then is the next event, unread too.
            self._rest, self._skipping = b"", True
        return events


def _event(raw: bytes) -> Event:
    kind, parts = b"message", []
    event_id: bytes | None = None
    retry_ms: int | None = None
    for line in _LINE.split(raw):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            parts.append(value)
        elif name == b"event":
            kind = value
        elif name == b"id" and b"\0" not in value:
            event_id = value
        elif name == b"retry" and value.isdigit():
            retry_ms = int(value)
    return Event(raw, kind, b"\n".join(parts), len(parts) == 1, event_id, retry_ms)


def with_data(event: Event, data: bytes) -> bytes:
    """Return the bytes of the event with other data, which is one line; all else stays as it was written."""
    return event.raw.replace(event.data, data.rstrip(b"\r\n"), 1)
