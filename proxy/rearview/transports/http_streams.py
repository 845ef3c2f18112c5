"""Answers to HTTP requests that may become streams of events, and what a client needs to take one up again."""

import time
from collections import deque

from rearview.transports.http_exchange import Exchange
from rearview.transports.http_heads import JSON, Headers

EVENTS: Headers = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
RETRY_MS = 1000
PATIENCE_SECONDS = 10.0
"""An answer that takes longer becomes a stream: a head that does not come is often taken for a server that is gone."""

KEPT_EVENTS = 1000
KEPT_BYTES = 4 * 2**20


class EventLog:
    """Numbers the events of one session and keeps the last ones, for clients that lost a stream; drops the oldest."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, int, bytes]] = deque()
        self._size = 0
        self._count = 0

    def event(self, stream: int, message: bytes) -> bytes:
        """Return the event that brings `message` on that stream; an empty one only tells how to come back."""
        self._count += 1
        retry = b"" if message else b"retry: %d\n" % RETRY_MS
        raw = b"id: %d-%d\n%b%b" % (stream, self._count, retry, plain_event(message))
        self._kept.append((stream, self._count, raw))
        self._size += len(raw)
        while len(self._kept) > KEPT_EVENTS or self._size > KEPT_BYTES:
            self._size -= len(self._kept.popleft()[2])
        return raw

    def after(self, event_id: bytes) -> tuple[int, bytes] | None:
        """Return the stream of that event and what came on it later, or `None` if it is no event of ours."""
        stream, _, number = event_id.partition(b"-")
        if not (stream.isdigit() and number.isdigit()):
            return None
        on, since = int(stream), int(number)
        return on, b"".join([raw for at, count, raw in self._kept if at == on and count > since])


class Stream:
    """The answer to one request: JSON if the last message is the first, events otherwise.

    With a `log` its events can be had again; `primed` is for clients that know what an event without data is.
    """

    def __init__(
        self, exchange: Exchange, number: int = 0, log: EventLog | None = None, *, primed: bool = False
    ) -> None:
        self.number = number
        self.headers: Headers = ()
        self.has_begun = False
        self._exchange = exchange
        self._log = log
        self._primed = primed
        self._since = time.monotonic()

    @property
    def is_open(self) -> bool:
        """Whether the client is there."""
        return self._exchange.is_open

    @property
    def reaches(self) -> bool:
        """Whether what is sent comes to the client, now or when it asks again."""
        return self.is_open or (self.has_begun and self._log is not None)

    def begin(self) -> None:
        """Send the head, so that the client knows that it is heard."""
        if not self.has_begun:
            self.has_begun = True
            self._exchange.start(200, [*EVENTS, *self.headers])
            if self._log is not None and self._primed:
                self._exchange.write(self._log.event(self.number, b""))

    def send(self, message: bytes) -> None:
        """Send a message that others follow."""
        self.begin()
        self._exchange.write(self._event(message))

    def finish(self, message: bytes, status: int = 200) -> None:
        """Send the last message; `status` counts if it is the first, too."""
        if self.has_begun:
            self._exchange.write(self._event(message))
            self._exchange.end()
        else:
            self._exchange.respond(status, [*JSON, *self.headers], message.rstrip(b"\r\n"))

    def end(self) -> None:
        """End the stream."""
        self.begin()
        self._exchange.end()

    def ping(self) -> None:
        """Send something that nobody reads, so that what stands between does not take us for dead."""
        if self.has_begun:
            self._exchange.write(b": still here\n\n")
        elif time.monotonic() - self._since > PATIENCE_SECONDS:
            self.begin()

    def take_up(self, exchange: Exchange, missed: bytes) -> None:
        """Go on where the client lost it."""
        self._exchange.abort()
        self._exchange = exchange
        exchange.start(200, EVENTS)
        exchange.write(missed)

    def _event(self, message: bytes) -> bytes:
        return plain_event(message) if self._log is None else self._log.event(self.number, message)


def plain_event(message: bytes) -> bytes:
    """Return an event without an id. Between the values of a JSON text a carriage return is a blank."""
    data = message.rstrip(b"\r\n")
    return b"data: %b\n\n" % (data.replace(b"\r", b" ") if b"\r" in data else data)


def replay(exchange: Exchange, missed: bytes) -> None:
    """Send what a client missed of a stream that is over."""
    exchange.start(200, EVENTS)
    exchange.write(missed)
    exchange.end()
