"""Who may talk to a listening relay: Host and Origin checks against DNS rebinding.

A web page can make a browser send requests to this machine; it can't choose the Host and Origin that the browser sends
(MCP specification, Transports, Security Warning).
"""

from collections.abc import Iterable

from rearview.transports.http_heads import Headers, field

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Guard:
    """Judges by the names in `allowed` (`NAME` for any port, or `NAME:PORT`) and those of the loopback interface."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(name.strip("[]").lower() for name in allowed) | LOOPBACK

    def objection(self, headers: Headers) -> str:
        """Return why a request is refused; empty if it is not."""
        host = field(headers, b"host").decode("latin-1").lower()
        if not self._knows(host):
            return f"the Host {host!r} is not allowed here; allow it with --allow-host"
        origin = field(headers, b"origin").decode("latin-1").lower()
        if origin and not self._knows(origin.partition("://")[2]):
            return f"the Origin {origin!r} is not allowed here; allow its host with --allow-host"
        return ""

    def _knows(self, authority: str) -> bool:
        name = authority
        if authority.rpartition(":")[2].isdigit():
            name = authority.rpartition(":")[0]
        return name.strip("[]") in self._allowed or authority in self._allowed
