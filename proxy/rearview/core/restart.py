"""The stored handshake of a legacy connection, and its replay to a server that had to be started again."""

from typing import Any

from rearview.core.actions import SWALLOW, FromServer, ToServer
from rearview.core.jsonspan import locate
from rearview.core.message import JsonObject

REPLAY_PREFIX = "rearview-initialize-"
"""Ids of our own requests are strings with this prefix; their answers are never shown to the client."""


class Handshake:
    """Remembers `initialize` and `notifications/initialized` as the client sent them."""

    __slots__ = ("_count", "_done", "_initialize", "_initialized", "exit_code", "restarted", "waiting")

    def __init__(self) -> None:
        self._initialize = b""
        self._initialized = b""
        self._done = False
        self._count = 0
        self.exit_code = 0
        self.restarted = False
        self.waiting = False

    def start(self, line: bytes) -> None:
        """Keep the client's `initialize`; it begins a new conversation."""
        self._initialize, self._initialized, self._done = line, b"", False

    def finish(self) -> None:
        """Note that the server accepted `initialize`. Before that there is nothing that a replay could restore."""
        self._done = True

    def initialized(self, line: bytes) -> None:
        """Keep the client's `notifications/initialized`."""
        self._initialized = line

    def gone(self, exit_code: int) -> None:
        """Note that the server ended."""
        self.exit_code = exit_code
        self.waiting = False

    def replay(self) -> list[bytes]:
        """Return the stored `initialize` under an id of ours, or nothing where the client had not finished its own."""
        self.restarted = True
        span = locate(self._initialize, ("id",)) if self._initialized else None
        if span is None:
            return []
        self._count += 1
        self.waiting = True
        own_id = f'"{REPLAY_PREFIX}{self._count}"'.encode()
        return [self._initialize[: span[0]] + own_id + self._initialize[span[1] :]]

    def answered(self, message_id: Any, body: JsonObject) -> FromServer | None:
        """Return what follows if `body` answers a replay: the client's `notifications/initialized` goes out."""
        if type(message_id) is not str or not message_id.startswith(REPLAY_PREFIX):
            return None
        if not self.waiting:
            return SWALLOW
        self.waiting = False
        return ToServer(self._initialized) if self._initialized and "result" in body else SWALLOW
