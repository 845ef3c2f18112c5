"""One message of the client on its way to an HTTP server, and what comes back: one answer, or a stream of messages."""

import asyncio
from typing import TYPE_CHECKING, Any

from rearview.core.events import Event, EventReader
from rearview.core.framing import LINE_LIMIT_BYTES
from rearview.errors import PeerError
from rearview.transports.http_client import Sent
from rearview.transports.http_heads import Headers, field
from rearview.transports.http_upstream_message import Message

if TYPE_CHECKING:
    from rearview.transports.http_upstream import Upstream

RETRY_SECONDS = 1.0
RETRY_LIMIT_SECONDS = 30.0
RESUMES_LIMIT = 5
"""So many attempts to go on with a stream that broke may fail, one after the other."""

RECONNECT_SECONDS = (0.1, 0.3, 0.6, 1.0, 1.5)
"""A server that has been there may be on its way back: nothing has been sent, so it is asked again after these."""

REPEAT_SECONDS = 0.1
OK = 200
_ERROR = 400


class Post:
    """Sends a message and hands on what comes; a stream that ends too early is gone on with where it names the place.

    `open` has the exact ids that still want an answer. Whoever takes an answer takes its id out.
    """

    def __init__(self, upstream: "Upstream", message: Message) -> None:
        self.message = message
        self.open: dict[Any, Any] = dict(message.requests)
        self.session = b""
        self.is_renewed = False
        self.moves = 0
        self.sent: Sent | None = None
        self._upstream = upstream
        self._status = 0
        self._headers: Headers = ()
        self._parts: list[bytes] = []
        self._events: EventReader | None = None
        self._last_id = b""
        self._retry_seconds = RETRY_SECONDS
        self._resumes = 0
        self._tries = 0
        self._is_repeated = False
        self._timer: asyncio.TimerHandle | None = None

    def go(self) -> None:
        """Send it, the first time or again."""
        self._status, self._headers, self._parts, self._events, self._last_id = 0, (), [], None, b""
        self.sent = self._upstream.post(self)

    def _later(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self.go)

    def give_up(self) -> None:
        """Close it; a server of 2026-07-28 takes that as its cancellation."""
        self.open.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self.sent is not None:
            self.sent.give_up()

    def on_head(self, status: int, _reason: bytes, headers: Headers) -> None:
        """See what is coming."""
        self._status, self._headers = status, headers
        kind = field(headers, b"content-type").lower()
        if status == OK and kind.startswith(b"text/event-stream"):
            self._events = EventReader(LINE_LIMIT_BYTES)
            self._resumes = 0
        if status < _ERROR:
            self._tries = 0
            self._upstream.reached(self, headers)

    def on_data(self, data: bytes) -> None:
        """Hand on the events that are whole now."""
        if self._events is None:
            self._parts.append(data)
            return
        for event in self._events.receive(data):
            self._take(event)

    def _take(self, event: Event) -> None:
        if event.id is not None:
            self._last_id = event.id
        if event.retry_ms is not None:
            self._retry_seconds = min(event.retry_ms / 1000, RETRY_LIMIT_SECONDS)
        if event.kind == b"message" and event.data:
            self._upstream.deliver(event.data)

    def on_end(self) -> None:
        """It is answered, or has to be gone on with, or never will be."""
        body = b"".join(self._parts)
        self._parts = []
        if self._events is not None:
            self._events = None
            if self.open and self._last_id:
                self._resume(self._retry_seconds)
            elif self.open:
                self._broken("the server closed the stream before it had answered")
            else:
                self._upstream.done(self)
        elif self._last_id:
            self._broken(f"the server did not go on with the answer ({self._status})")
        else:
            self._upstream.answered(self, self._status, self._headers, body)

    def on_failure(self, error: PeerError) -> None:
        """The connection broke, or there never was one."""
        self._events = None
        if not self.open and self._status:
            self._upstream.done(self)
        elif self._last_id and self._resumes < RESUMES_LIMIT:
            self._resumes += 1
            self._resume(self._retry_seconds * self._resumes)
        elif self._last_id or self._status or (self.sent is not None and self.sent.was_sent):
            self._broken(str(error))
        else:
            self._unreachable(str(error))

    def _unreachable(self, why: str) -> None:
        """Nothing could be sent."""
        if self._upstream.was_reached and self._tries < len(RECONNECT_SECONDS):
            self._later(RECONNECT_SECONDS[self._tries])
            self._tries += 1
        else:
            self._upstream.lost(self, why)

    def _broken(self, why: str) -> None:
        """It was sent and may have been taken: only what does no harm is sent once more."""
        if not self._is_repeated and self.open and self._upstream.session.tools.may_repeat(self.message):
            self._is_repeated = True
            self._later(REPEAT_SECONDS)
        else:
            self._upstream.lost(self, f"{why}; whether it has run is not known" if self.open else why)

    def _resume(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        if not self.open:
            self._upstream.done(self)
            return
        self._status, self._headers = 0, ()
        self.sent = self._upstream.get(self._last_id, self)
