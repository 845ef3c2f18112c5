"""Heads of HTTP/1.1 messages: which fields travel on, and how a head is written (RFC 9110, RFC 9112)."""

from collections.abc import Iterable, Sequence
from http import HTTPStatus

Headers = Sequence[tuple[bytes, bytes]]
"""Names as they were written, and values. Compare names with `field`."""

ENDPOINT = b"/mcp"
"""Where a relay is reached, whatever the path of the server's own address is."""

SESSION_ID = b"mcp-session-id"
JSON: Headers = ((b"content-type", b"application/json"),)

# RFC 9110 7.6.1: what concerns one connection ends with it. The length is written anew with the body.
_HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization", b"te",
        b"trailer", b"transfer-encoding", b"upgrade", b"content-length", b"expect",
    }
)  # fmt: skip


def field(headers: Headers, name: bytes) -> bytes:
    """Return the first value of a field, whose `name` is in lower case; empty if there is none."""
    for key, value in headers:
        if key.lower() == name:
            return value
    return b""


def travelling(headers: Headers, without: Iterable[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """Return the fields that go on to the next hop: not those of the connection, nor what it names, nor `without`."""
    dropped = _HOP_BY_HOP.union(without)
    named = field(headers, b"connection")
    if named:
        dropped = dropped.union(part.strip().lower() for part in named.split(b","))
    return [pair for pair in headers if pair[0].lower() not in dropped]


def request_head(method: bytes, target: bytes, headers: Headers) -> bytes:
    """Return the head of a request."""
    return b"%b %b HTTP/1.1\r\n%b\r\n" % (method, target, _lines(headers))


def response_head(status: int, reason: bytes, headers: Headers) -> bytes:
    """Return the head of a response; without a `reason`, the standard one."""
    return b"HTTP/1.1 %d %b\r\n%b\r\n" % (status, reason or _reason(status), _lines(headers))


def _lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % pair for pair in headers])


def _reason(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""
