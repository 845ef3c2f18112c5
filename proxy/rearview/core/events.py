"""Reads a stream of server-sent events (WHATWG HTML, 9.2.5) while its bytes go on as they come."""

import re
from typing import NamedTuple

EVENT_LIMIT_BYTES = 16 * 2**20
"""A longer event is passed on unread."""

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\r\n\n|\n\r\n")
_LINE = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """One event: its raw bytes with the blank line, its type, and its data."""

    raw: bytes
    kind: bytes
    data: bytes
    is_single: bool
    """Whether the data is one line, so that it can be replaced."""


class EventReader:
    """Collects bytes until an event is whole."""

    __slots__ = ("_rest", "_skipping")

    def __init__(self) -> None:
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
        while found := _END.search(rest, at):
            if self._skipping:
                self._skipping = False
            else:
                events.append(_event(rest[at : found.end()]))
            at = found.end()
        self._rest = rest[at:]
        if len(self._rest) > EVENT_LIMIT_BYTES:
            # Its end may be cut in two here; what is lost then is the next event, unread too.
            self._rest, self._skipping = b"", True
        return events


def _event(raw: bytes) -> Event:
    kind, parts = b"message", []
    for line in _LINE.split(raw):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            parts.append(value)
        elif name == b"event":
            kind = value
    return Event(raw, kind, b"\n".join(parts), len(parts) == 1)


def with_data(event: Event, data: bytes) -> bytes:
    """Return the bytes of the event with other data, which is one line; all else stays as it was written."""
    return event.raw.replace(event.data, data.rstrip(b"\r\n"), 1)
