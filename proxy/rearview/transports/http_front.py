"""Listens for HTTP clients until a signal ends it, and answers what asks for our own health."""

import asyncio
import json
import signal
from collections.abc import Callable
from typing import Protocol

from rearview.errors import PeerError
from rearview.transports.http_exchange import Exchange
from rearview.transports.http_heads import JSON
from rearview.transports.http_server import BODY_LIMIT_BYTES, Connection

DRAIN_SECONDS = 5.0
"""How long answers that have begun may take once the end was asked for."""

LOOK_SECONDS = 0.05


class Handler(Protocol):
    """Answers requests."""

    def handle(self, exchange: Exchange) -> None:
        """Take one request."""
        ...

    def readiness(self) -> str:
        """Return why no request can be answered at the moment; empty if it can."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Front:
    """One listening socket and its connections. `on_ending` is called when answers begin to be waited for."""

    def __init__(
        self, handler: Handler, *, body_limit: int = BODY_LIMIT_BYTES, on_ending: Callable[[], None] | None = None
    ) -> None:
        self._handler = handler
        self._on_ending = on_ending
        self._body_limit = body_limit
        self._open: set[Connection] = set()
        self._ending = asyncio.Event()

    async def run(self, host: str, port: int, on_ready: Callable[[str, int], None]) -> None:
        """Listen until SIGTERM or SIGINT; then let the answers that have begun come to their end.

        Raises:
            PeerError: the address can't be listened on.
        """
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(self._connected, host, port)
        except OSError as error:
            message = f"can't listen on {host}:{port}: {error.strerror or error}; choose another --listen HOST:PORT"
            raise PeerError(message) from error
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ending.set)
        on_ready(host, server.sockets[0].getsockname()[1])
        await self._ending.wait()
        server.close()
        if self._on_ending is not None:
            self._on_ending()
        await self._drain()
        self._handler.close()
        for connection in list(self._open):
            connection.close()

    def _connected(self) -> Connection:
        return Connection(self._handle, self._body_limit, self._open)

    def _handle(self, exchange: Exchange) -> None:
        path = exchange.request.target.partition(b"?")[0]
        if path == b"/healthz":
            exchange.respond(200, JSON, b'{"status":"ok"}\n')
        elif path == b"/readyz":
            why = self._handler.readiness()
            body = {"status": "not ready", "why": why} if why else {"status": "ready"}
            exchange.respond(503 if why else 200, JSON, json.dumps(body).encode() + b"\n")
        else:
            self._handler.handle(exchange)

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        by = loop.time() + DRAIN_SECONDS
        # The answers of many connections, and a deadline: no single event tells of that.
        while loop.time() < by and any(not connection.is_idle for connection in self._open):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
