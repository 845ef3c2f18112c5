"""The two strings that OAuth clients compare with the address they called: these name us in place of the server.

A client refuses a protected resource's document (RFC 9728) whose `resource` is not the address it called. So discovery,
consent and refresh work through a relay; a token is then made out to our address, and a server that insists on its own
refuses it. Proofs that bind the address (DPoP, RFC 9449) can't be passed on at all.
"""

import json
import re

from rearview.core.jsonspan import locate
from rearview.transports.http_client import Origin
from rearview.transports.http_heads import Headers, field

WELL_KNOWN = b"/.well-known/"
_DOCUMENT = WELL_KNOWN + b"oauth-protected-resource"
_METADATA = re.compile(rb'(resource_metadata\s*=\s*"?)(https?://[^/"\s,]+)', re.IGNORECASE)


class Names:
    """Puts our address for the server's. `endpoint` is the path by which we stand for the path of its address."""

    def __init__(self, origin: Origin, endpoint: bytes) -> None:
        self._origin = origin
        self._path = origin.path.rstrip(b"/")
        self._endpoint = endpoint
        self._theirs = f"{'https' if origin.is_secure else 'http'}://".encode() + origin.authority

    def asked(self, path: bytes) -> bytes:
        """Return the path of a document about our endpoint as it stands at the server."""
        if path.startswith(WELL_KNOWN) and path.endswith(self._endpoint):
            return path.removesuffix(self._endpoint) + self._path
        return path

    def challenge(self, headers: Headers, asked_by: Headers) -> Headers:
        """Return the head of an answer that asks for a token, with the document's address as ours."""
        if not field(headers, b"www-authenticate"):
            return headers
        ours = _address(asked_by)
        return [
            (name, _METADATA.sub(lambda found: found[1] + self._ours(found[2], ours), value))
            if name.lower() == b"www-authenticate"
            else (name, value)
            for name, value in headers
        ]

    def document(self, target: bytes, body: bytes, asked_by: Headers) -> bytes:
        """Return a protected resource's document with `resource` as ours; anything else as it is."""
        span = locate(body, ("resource",)) if target.startswith(_DOCUMENT) else None
        if span is None:
            return body
        try:
            resource = json.loads(body[slice(*span)])
        except ValueError:
            return body
        origin, path = _split(resource.encode()) if isinstance(resource, str) else (b"", b"")
        if origin != self._theirs:
            return body
        if path.rstrip(b"/") == self._path:
            path = self._endpoint
        named = json.dumps((_address(asked_by) + path).decode())
        return body[: span[0]] + named.encode() + body[span[1] :]

    def _ours(self, theirs: bytes, ours: bytes) -> bytes:
        return ours if theirs == self._theirs else theirs


def _split(url: bytes) -> tuple[bytes, bytes]:
    scheme, mark, rest = url.partition(b"://")
    host, slash, path = rest.partition(b"/")
    return scheme + mark + host, slash + path


def _address(asked_by: Headers) -> bytes:
    scheme = field(asked_by, b"x-forwarded-proto").lower()
    return (b"https" if scheme == b"https" else b"http") + b"://" + field(asked_by, b"host")
