"""The stream on which a server of a legacy revision says what nobody asked for."""

import asyncio
from typing import TYPE_CHECKING

from rearview.core.events import EventReader
from rearview.core.framing import LINE_LIMIT_BYTES
from rearview.errors import PeerError
from rearview.transports.http_client import Sent
from rearview.transports.http_heads import Headers, field
from rearview.transports.http_upstream_post import OK, RETRY_LIMIT_SECONDS, RETRY_SECONDS

if TYPE_CHECKING:
    from rearview.transports.http_upstream import Upstream

WAIT_SECONDS = 0.05
_NOT_FOUND = 404


class Unsolicited:
    """Keeps one stream open from the handshake to the end, if the server offers one."""

    def __init__(self, upstream: "Upstream") -> None:
        self.sent: Sent | None = None
        self._upstream = upstream
        self._events: EventReader | None = None
        self._last_id = b""
        self._retry_seconds = RETRY_SECONDS
        self._wait = RETRY_SECONDS
        self._was_open = False
        self._is_refused = False
        self._is_lost = False
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Open it; what a session before this one offered does not count."""
        self.stop()
        self._last_id, self._was_open, self._is_refused = b"", False, False
        self._open()

    def stop(self) -> None:
        """Close it for good."""
        if self._timer is not None:
            self._timer.cancel()
        if self.sent is not None:
            self.sent.give_up()
            self.sent = None

    def _open(self) -> None:
        self._events, self._is_lost = None, False
        self.sent = self._upstream.get(self._last_id, self)

    def on_head(self, status: int, _reason: bytes, headers: Headers) -> None:
        """See whether it is offered: 405 says that it isn't."""
        if status == OK and field(headers, b"content-type").lower().startswith(b"text/event-stream"):
            self._events = EventReader(LINE_LIMIT_BYTES)
            self._was_open = True
            self._wait = self._retry_seconds
        elif status == _NOT_FOUND and self._was_open:
            self._is_lost = True
        elif status < 500:  # noqa: PLR2004 - HTTP's own number: what follows is a state of the server that may pass
            self._is_refused = True

    def on_data(self, data: bytes) -> None:
        """Hand on the events that are whole now."""
        if self._events is None:
            return
        for event in self._events.receive(data):
            if event.id is not None:
                self._last_id = event.id
            if event.retry_ms is not None:
                self._wait = self._retry_seconds = min(event.retry_ms / 1000, RETRY_LIMIT_SECONDS)
            if event.kind == b"message" and event.data:
                self._upstream.deliver(event.data)

    def on_end(self) -> None:
        """Open it again when the server wants."""
        self.sent = None
        if self._is_lost:
            self._upstream.renew()
        elif not self._is_refused:
            self._again()

    def on_failure(self, _error: PeerError) -> None:
        """Open it again, and ever less often while that fails."""
        self.sent = None
        self._again()

    def _again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(max(self._wait, WAIT_SECONDS), self._open)
        self._wait = min(max(self._wait, WAIT_SECONDS) * 2, RETRY_LIMIT_SECONDS)
