"""Reads the refusals of an HTTP server, and puts them into words for a client that speaks no HTTP."""

import re
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from rearview.transports.http_client import Origin
from rearview.transports.http_heads import Headers, field

QUOTE_CHARS = 200

_BAD_REQUEST, _UNAUTHORIZED, _NOT_FOUND = 400, 401, 404
_MOVED = frozenset({307, 308})
# 404 is what the specification wants; servers after the widespread example of the TypeScript SDK answer 400.
_SESSIONLESS = re.compile(rb"session id|session not found|not initialized", re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")


def is_lost_session(status: int, body: bytes) -> bool:
    """Tell whether the server refuses a request because it does not know its session, so that nothing ran."""
    return status == _NOT_FOUND or (status == _BAD_REQUEST and _SESSIONLESS.search(body[:1024]) is not None)


def moved_to(origin: Origin, status: int, headers: Headers) -> bytes:
    """Return the path at which the same server wants to be asked instead; empty for anything else.

    Another server is not asked: it must not get what is for this one only.
    """
    place = field(headers, b"location").decode("latin-1")
    if status not in _MOVED or not place:
        return b""
    here, there = urlsplit(origin.url), urlsplit(urljoin(origin.url, place))
    if (there.scheme, there.netloc) != (here.scheme, here.netloc):
        return b""
    return (there.path or "/").encode() + (b"?" + there.query.encode() if there.query else b"")


def why_refused(status: int, headers: Headers, body: bytes) -> str:
    """Return the reason: the status, what to do about it, and the beginning of what the server says."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "unknown status"
    text = f"the server answered {status} {phrase}"
    if status == _UNAUTHORIZED:
        text += ": it wants a token; give it in a file, --header-file FILE, as a line Authorization: Bearer TOKEN"
    elif status in _MOVED:
        text += f": it is at {_short(field(headers, b'location').decode('latin-1')).partition('?')[0]}; change --url"
    kind = field(headers, b"content-type").lower()
    said = (
        _short(body[: 4 * QUOTE_CHARS].decode("utf-8", "replace"))
        if kind.startswith((b"text/plain", b"application/json"))
        else ""
    )
    return f"{text}: {said}" if said else text


def _short(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text).strip()[:QUOTE_CHARS]
