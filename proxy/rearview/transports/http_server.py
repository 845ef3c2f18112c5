"""The side that clients connect to: HTTP/1.1 on asyncio's protocols, parsed by httptools.

Raw, because what a relay adds is nearly all in this layer: a web framework costs as much as all the rest together.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

import httptools

from rearview.transports.http_exchange import Exchange, Request
from rearview.transports.http_heads import field, response_head

HEAD_LIMIT_BYTES = 64 * 2**10
BODY_LIMIT_BYTES = 64 * 2**20
SLOW_SECONDS = 30.0
"""How long a client may take for a head, or between two parts of a body."""
IDLE_SECONDS = 300.0
HIGH_WATER_BYTES = 2**20


class Connection(asyncio.Protocol):
    """One client's connection. Requests that follow each other are handled one after the other."""

    def __init__(self, handle: Callable[[Exchange], None], body_limit: int, open_ones: "set[Connection]") -> None:
        self._handle = handle
        self._body_limit = body_limit
        self._open_ones = open_ones
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._exchange: Exchange | None = None
        self._queue: deque[tuple[Request, bool, bool]] = deque()
        self._paused = False
        self._begin()

    def _begin(self) -> None:
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._size = self._head_size = 0
        self._reading = False
        self._refused = 0

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to listen to a client."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(HIGH_WATER_BYTES)
        self._open_ones.add(self)
        self._wait(SLOW_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if not self._reading:
            # A head that does not end is no head.
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(501, b"no protocol but HTTP/1.1 is spoken here")
        except httptools.HttpParserError:
            self._refuse(400, b"this is not HTTP/1.1")
        else:
            if self._head_size > HEAD_LIMIT_BYTES:
                self._refuse(431, b"the head of the request is too large")
            elif self._refused:
                self._refuse(self._refused, b"the body of the request is too large")

    def connection_lost(self, _exc: Exception | None) -> None:
        """The client has left."""
        self._open_ones.discard(self)
        self._transport = None
        self._stop_waiting()
        self._queue.clear()
        exchange = self._exchange
        if exchange is not None and exchange.is_open:
            exchange.is_open = False
            exchange.on_gone()

    def pause_writing(self) -> None:
        """The client reads slower than it is sent to."""
        self._paused = True
        if self._exchange is not None:
            self._exchange.on_pause(True)

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._paused = False
        if self._exchange is not None:
            self._exchange.on_pause(False)

    # httptools

    def on_url(self, url: bytes) -> None:
        """Take a part of the target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head."""
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Get ready for the body."""
        self._reading, self._head_size = True, 0
        length = field(self._headers, b"content-length")
        if length.isdigit() and int(length) > self._body_limit:
            self._refused = 413
        elif field(self._headers, b"expect").lower() == b"100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        """Take a part of the body."""
        self._size += len(data)
        if self._size > self._body_limit:
            self._refused = 413
        elif not self._refused:
            self._body.append(data)
            self._wait(SLOW_SECONDS)

    def on_message_complete(self) -> None:
        """Handle the request, or keep it until the one before it is answered."""
        if self._refused:
            return
        request = Request(self._parser.get_method(), self._target, self._headers, b"".join(self._body))
        self._queue.append((request, self._parser.should_keep_alive(), self._parser.get_http_version() != "1.0"))
        self._begin()
        self._next()

    # the exchange

    def send(self, data: bytes) -> None:
        """Write to the client."""
        if self._transport is not None:
            self._transport.write(data)

    def finished(self, *, keep_alive: bool) -> None:
        """Turn to the next request."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None and self._paused:
            # The answer is whole, so its source has nothing more for this client; others may wait for that source.
            exchange.on_pause(False)
        if not keep_alive or self._refused:
            self.close()
            return
        self._wait(IDLE_SECONDS)
        if self._transport is not None and self._queue:
            self._transport.resume_reading()
            self._next()

    def close(self) -> None:
        """Close when everything is written."""
        if self._transport is not None:
            self._transport.close()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self._exchange is None

    def _next(self) -> None:
        if self._exchange is not None or not self._queue:
            if len(self._queue) > 1 and self._transport is not None:
                self._transport.pause_reading()
            return
        request, keep_alive, may_chunk = self._queue.popleft()
        self._stop_waiting()
        self._exchange = exchange = Exchange(self, request, keep_alive=keep_alive, may_chunk=may_chunk)
        self._handle(exchange)

    def _refuse(self, status: int, why: bytes) -> None:
        self._refused = status
        if self._exchange is None:
            body = b'{"error":"%b"}\n' % why
            about = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
            self.send(response_head(status, b"", [*about, (b"connection", b"close")]) + body)
            self.close()
        elif self._transport is not None:
            # What came is no request; the one that is being answered still gets its answer.
            self._transport.pause_reading()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
