"""One request of a client, and the way to answer it."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from rearview.transports.http_heads import Headers, response_head

_BODILESS = frozenset({204, 304})


class Wire(Protocol):
    """The connection that a request came on."""

    def send(self, data: bytes) -> None:
        """Write to the client."""
        ...

    def finished(self, *, keep_alive: bool) -> None:
        """The answer is whole: turn to the next request."""
        ...

    def close(self) -> None:
        """Close when everything is written."""
        ...


class Request(NamedTuple):
    """One request, read whole."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes


class Exchange:
    """One request and the way to answer it. `on_gone` is called when the client leaves before the answer is whole.

    Answer by `respond`, or by `start`, `write` and `end`. After the client has left, all of them do nothing.
    `on_pause(True)` asks for no more `write` until `on_pause(False)`.
    """

    __slots__ = (
        "_chunked",
        "_connection",
        "_keep_alive",
        "_may_chunk",
        "is_open",
        "on_gone",
        "on_pause",
        "request",
        "started",
    )

    def __init__(self, connection: Wire, request: Request, *, keep_alive: bool, may_chunk: bool = True) -> None:
        self.request = request
        self.is_open = True
        self.started = False
        self.on_gone: Callable[[], None] = _nothing
        self.on_pause: Callable[[bool], None] = _ignored
        self._connection = connection
        self._keep_alive = keep_alive
        self._may_chunk = may_chunk
        self._chunked = False

    def respond(self, status: int, headers: Headers, body: bytes, reason: bytes = b"") -> None:
        """Send a whole response."""
        if self.is_open:
            self.started = True
            length = [] if status in _BODILESS else [(b"content-length", b"%d" % len(body))]
            head = response_head(status, reason, [*headers, *length, *self._closing()])
            self._connection.send(head if self.request.method == b"HEAD" else head + body)
            self._over()

    def start(self, status: int, headers: Headers, reason: bytes = b"", length: int | None = None) -> None:
        """Send the head of a response whose body follows; without a `length` it goes out in chunks."""
        if self.is_open:
            self.started = True
            bodiless = status in _BODILESS or self.request.method == b"HEAD"
            self._chunked = length is None and not bodiless and self._may_chunk
            # HTTP/1.0 knows no chunks: the end of the connection is the end of the body.
            self._keep_alive = self._keep_alive and (self._may_chunk or length is not None)
            framing: Headers = ()
            if length is not None:
                framing = ((b"content-length", b"%d" % length),)
            elif self._chunked:
                framing = ((b"transfer-encoding", b"chunked"),)
            self._connection.send(response_head(status, reason, [*headers, *framing, *self._closing()]))

    def write(self, data: bytes) -> None:
        """Send a part of the body as it is."""
        if self.is_open and data:
            self._connection.send(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def end(self) -> None:
        """Say that the body is whole."""
        if self.is_open:
            if self._chunked:
                self._connection.send(b"0\r\n\r\n")
            self._over()

    def abort(self) -> None:
        """Close the connection: the body that was begun will never be whole, and the client has to see that."""
        if self.is_open:
            self.is_open = False
            self._connection.close()

    def _closing(self) -> Headers:
        return () if self._keep_alive else ((b"connection", b"close"),)

    def _over(self) -> None:
        self.is_open = False
        self._connection.finished(keep_alive=self._keep_alive)


def _nothing() -> None:
    """Nobody listens."""


def _ignored(_paused: bool) -> None:
    """Nobody listens."""
