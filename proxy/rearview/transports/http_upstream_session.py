"""What an HTTP server has to be told with each request of a conversation: its name, its revision, the user's fields."""

from collections.abc import Mapping
from typing import Any

from rearview.core.actions import FromServer
from rearview.core.restart import Handshake
from rearview.transports.http_client import Listener, Origin, Sent
from rearview.transports.http_heads import SESSION_ID, Headers, field
from rearview.transports.http_upstream_message import Message, Tools


class ServerSession:
    """The session that a server of a legacy revision has given us, if it has, and the handshake that led to it."""

    def __init__(self, origin: Origin, own: Headers) -> None:
        self.origin = origin
        self.target = origin.path + (b"?" + origin.query if origin.query else b"")
        self.tools = Tools()
        self.name = b""
        self.handshake = Handshake()
        self._version = b""
        self._base = _base(origin, own)
        self._told = self._base

    def named(self, headers: Headers) -> None:
        """Take the name from the answer to `initialize`."""
        self.name = field(headers, SESSION_ID)
        self._tell()

    def _tell(self) -> None:
        more = ((SESSION_ID, self.name), (b"mcp-protocol-version", self._version))
        self._told = [*self._base, *(pair for pair in more if pair[1])]

    def greeted(self, message_id: Any, content: Mapping[str, Any]) -> FromServer | None:
        """Take the answer to `initialize`; return what follows if that was ours and not the client's."""
        result = content.get("result")
        if type(result) is dict:
            version = result.get("protocolVersion")
            self._version = (
                version.encode() if type(version) is str and version.isascii() and version.isprintable() else b""
            )
            self._tell()
            self.handshake.finish()
        return self.handshake.answered(message_id, dict(content))

    def post(self, message: Message, listener: Listener) -> Sent:
        """Send a message."""
        length = (b"content-length", b"%d" % len(message.body))
        if message.modern:
            headers = [*self._base, length, *self.tools.fields(message)]
        elif message.method == "initialize":
            headers = [*self._base, length]
        else:
            headers = [*self._told, length]
        return self.origin.send(b"POST", self.target, headers, message.body, listener)

    def get(self, last_id: bytes, listener: Listener) -> Sent:
        """Open a stream, or go on with one after its event of that id."""
        headers = [*self._told, (b"last-event-id", last_id)] if last_id else self._told
        return self.origin.send(b"GET", self.target, headers, b"", listener)

    def end(self, listener: Listener) -> None:
        """Tell the server that the session is over; `listener` hears when it knows."""
        if self.name:
            self.origin.send(b"DELETE", self.target, self._told, b"", listener)
        else:
            listener.on_end()


def _base(origin: Origin, own: Headers) -> list[tuple[bytes, bytes]]:
    headers = {
        b"host": origin.authority,
        b"accept": b"application/json, text/event-stream",
        # What comes is written to the client as it is.
        b"accept-encoding": b"identity",
        b"content-type": b"application/json",
    }
    return [(name, value) for name, value in headers.items() if not field(own, name)] + list(own)
