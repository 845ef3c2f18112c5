"""The side towards a server: kept-alive HTTP/1.1 connections on asyncio's protocols, parsed by httptools.

Not httpx: it costs half a millisecond a request, which is twenty times all the rest of a hop (docs/benchmarks.md).
"""

import asyncio
import os
import ssl
from typing import Protocol, cast
from urllib.parse import urlsplit

import httptools

from rearview.errors import PeerError
from rearview.transports.http_heads import Headers, field, request_head

CONNECT_SECONDS = 10.0
IDLE_LIMIT = 64
_BODILESS = frozenset({204, 304})
_FIRST_FINAL = 200


class Listener(Protocol):
    """Hears of one response, in this order; after `on_end` or `on_failure` nothing more comes."""

    def on_head(self, status: int, reason: bytes, headers: Headers, /) -> None:
        """The head has come."""
        ...

    def on_data(self, data: bytes, /) -> None:
        """A part of the body has come."""
        ...

    def on_end(self) -> None:
        """The response is whole."""
        ...

    def on_failure(self, error: PeerError, /) -> None:
        """There will be no whole response; `error` says why."""
        ...


class Origin:
    """A server's address, and the connections to it that are idle."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            message = f"{url} is no http:// or https:// address"
            raise PeerError(message)
        self.url = url
        self.path = (parts.path or "/").encode()
        self.query = parts.query.encode()
        self.host, self.is_secure = parts.hostname, parts.scheme == "https"
        self.port = parts.port or (443 if self.is_secure else 80)
        self.authority = parts.netloc.rpartition("@")[2].encode()
        self._tls = ssl.create_default_context() if self.is_secure else None
        self._idle: list[Sent] = []
        self._starting: set[asyncio.Task[None]] = set()

    def send(self, method: bytes, target: bytes, headers: Headers, body: bytes, listener: Listener) -> "Sent":
        """Send a request, on a connection of its own or on an idle one."""
        data = request_head(method, target, headers) + body
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                connection.ask(method, data, listener)
                return connection
        connection = Sent(self._idle)
        task = asyncio.get_running_loop().create_task(self._connect(connection, method, data, listener))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        return connection

    async def _connect(self, connection: "Sent", method: bytes, data: bytes, listener: Listener) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await loop.create_connection(lambda: connection, self.host, self.port, ssl=self._tls)
        except (OSError, TimeoutError) as error:
            why = getattr(error, "strerror", None) or str(error) or "it did not answer in time"
            if isinstance(error, ConnectionError) and error.errno:
                # asyncio's own words name the address once more, and not the reason.
                why = os.strerror(error.errno)
            if not connection.is_given_up:
                listener.on_failure(PeerError(f"can't reach {self.authority.decode()}: {why}"))
        else:
            connection.ask(method, data, listener)

    def close(self) -> None:
        """Close the idle connections; the others close when their response is whole or given up."""
        for connection in self._idle:
            connection.give_up()
        self._idle.clear()


class Sent(asyncio.Protocol):
    """A request on its way, or an idle connection: for one request at a time."""

    def __init__(self, idle: "list[Sent]") -> None:
        self.is_given_up = False
        self.was_sent = False
        self._parser = httptools.HttpResponseParser(self)
        self._pool = idle
        self._transport: asyncio.Transport | None = None
        self._listener: Listener | None = None
        self._method = b""
        self._begin()

    def _begin(self) -> None:
        self._reason = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._until_end = False
        self._has_head = False

    @property
    def is_usable(self) -> bool:
        """Whether it is connected, as far as we know."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def unsent_bytes(self) -> int:
        """How much of a request the server has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def ask(self, method: bytes, data: bytes, listener: Listener) -> None:
        """Send a request on an idle connection."""
        if self.is_given_up:
            self.give_up()
            return
        if self._transport is None:
            listener.on_failure(PeerError("the server closed the connection"))
            return
        self._method, self._listener = method, listener
        self.was_sent = True
        self._transport.write(data)

    def give_up(self) -> None:
        """Close; nobody hears of it."""
        self.is_given_up = True
        self._listener = None
        if self._transport is not None:
            self._transport.abort()

    def pause(self, paused: bool) -> None:
        """Stop reading for a while, or go on."""
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.pause_reading if paused else self._transport.resume_reading)()

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that there is a connection."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"the server's answer is no HTTP/1.1: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the listener, unless the end of the connection is the end of the body."""
        self._transport = None
        if self in self._pool:
            self._pool.remove(self)
        if self._listener is not None:
            if self._has_head and self._until_end and exc is None:
                self._end()
            else:
                self._fail("the server closed the connection before it had answered")

    # httptools

    def on_status(self, reason: bytes) -> None:
        """Take the reason."""
        self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head."""
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Hand on the head of the final response; those before it (100 Continue) concern nobody."""
        status = self._parser.get_status_code()
        if status < _FIRST_FINAL or self._listener is None:
            return
        self._has_head = True
        bodiless = status in _BODILESS or self._method == b"HEAD"
        framed = field(self._headers, b"content-length") or field(self._headers, b"transfer-encoding")
        self._until_end = not framed and not bodiless
        self._listener.on_head(status, self._reason, self._headers)
        if self._method == b"HEAD":
            self._end()

    def on_body(self, data: bytes) -> None:
        """Hand on a part of the body."""
        if self._listener is not None:
            self._listener.on_data(data)

    def on_message_complete(self) -> None:
        """The response is whole, unless it was one before the final one."""
        if not self._has_head:
            self._reason, self._headers = b"", []
        else:
            self._end()

    def _end(self) -> None:
        listener, self._listener = self._listener, None
        keep = self._method != b"HEAD" and self._parser.should_keep_alive() and not self._until_end
        self._begin()
        if self._transport is not None and (not keep or len(self._pool) >= IDLE_LIMIT):
            self._transport.close()
        elif self._transport is not None and self.is_usable:
            # Whoever paused it wanted no more of this answer; the next one has to be heard.
            self._transport.resume_reading()
            self._pool.append(self)
        if listener is not None:
            listener.on_end()

    def _fail(self, why: str) -> None:
        listener, self._listener = self._listener, None
        if self._transport is not None:
            self._transport.abort()
        if listener is not None:
            listener.on_failure(PeerError(why))
