"""Relays between HTTP clients and a server on standard input and output, told apart by each message's generation."""

import asyncio
import secrets
import time
from collections.abc import Sequence

from rearview.core.framing import one_line
from rearview.core.inject import error_answer
from rearview.core.meeting import MakeParts
from rearview.core.message import JsonObject, look, look_at_batch
from rearview.core.session import Session
from rearview.errors import PeerError
from rearview.transports.children import Children
from rearview.transports.ear import Ear
from rearview.transports.guard import Guard
from rearview.transports.http_exchange import Exchange
from rearview.transports.http_heads import ENDPOINT, JSON, SESSION_ID, field
from rearview.transports.http_legacy import LegacySession
from rearview.transports.http_media import LEGACY_VERSIONS, VERSION, is_modern, objection_to_media
from rearview.transports.http_modern import ModernClients
from rearview.transports.judge import Report

LAST_EVENT = b"last-event-id"
IDLE_SECONDS = 30 * 60.0
"""A child whose client neither asked nor listened for so long is ended; the client will have to initialize anew."""

PING_SECONDS = 15.0
UNREAD_BYTES = 64 * 2**20
"""More than that a child must not leave unread."""


class HttpToStdio:
    """Answers requests by what children of `command` say. Needs a running event loop."""

    def __init__(self, command: Sequence[str], guard: Guard, make: MakeParts, report: Report, limit: int) -> None:
        self._guard = guard
        self._make = make
        self._report = report
        self._limit = limit
        self._children = Children(command, report)
        self._sessions: dict[bytes, LegacySession] = {}
        self._modern = ModernClients(self._children, make, report)
        self._why = ""
        self._timer = asyncio.get_running_loop().call_later(PING_SECONDS, self._look_round)

    def handle(self, exchange: Exchange) -> None:
        """Take one request."""
        request = exchange.request
        objection = self._guard.objection(request.headers)
        status = 403
        if not objection and request.target.partition(b"?")[0].rstrip(b"/") != ENDPOINT:
            status, objection = 404, "there is nothing here but /mcp"
        if not objection:
            status, objection = objection_to_media(request.method, request.headers)
        if objection:
            allow = ((b"allow", b"GET, POST, DELETE"),) if status == 405 else ()  # noqa: PLR2004 - HTTP's own number
            exchange.respond(status, [*JSON, *allow], error_answer(None, objection, {}))
        elif request.method == b"POST":
            self._post(exchange)
        else:
            self._get_or_delete(exchange)

    def _post(self, exchange: Exchange) -> None:
        body = exchange.request.body
        message = look(body)
        messages = look_at_batch(body) if message is None else [message]
        if not messages:
            exchange.respond(400, JSON, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}')
        elif is_modern(exchange.request.headers, message):
            self._modern.post(exchange, one_line(body), message)
        elif message is not None and message.get("method") == "initialize" and not self._name(exchange):
            self._begin(exchange, message)
        else:
            session = self._session_of(exchange, messages[0])
            if session is not None and session.waiting_bytes > UNREAD_BYTES:
                self._refuse(exchange, 503, "the server does not read what it is sent", messages[0])
            elif session is not None:
                session.post(exchange, one_line(body), messages, field(exchange.request.headers, VERSION))

    def _begin(self, exchange: Exchange, message: JsonObject) -> None:
        """Start a child for a client that introduces itself."""
        if len(self._children) >= self._limit:
            what = f"{self._limit} servers run already, one for each client; try again later"
            self._refuse(exchange, 503, what, message)
            return
        name = secrets.token_hex(16).encode()
        ear = Ear(Session(lambda: self._make(f"http-{name.decode()[:12]}")), self._report, self._children.errors)
        try:
            session = LegacySession(name, self._children, ear)
        except PeerError as error:
            self._why = f"{error}"
            self._refuse(exchange, 502, self._why, message)
            return
        self._why = ""
        self._sessions[name] = session
        session.post(exchange, one_line(exchange.request.body), [message], b"")

    def _get_or_delete(self, exchange: Exchange) -> None:
        headers = exchange.request.headers
        if is_modern(headers, None) and not self._name(exchange):
            exchange.respond(405, [*JSON, (b"allow", b"POST")], error_answer(None, "only POST, in this revision", {}))
            return
        session = self._session_of(exchange, {})
        if session is None:
            return
        if exchange.request.method == b"GET":
            session.listen(exchange, field(headers, LAST_EVENT))
        else:
            del self._sessions[session.name]
            session.close()
            exchange.respond(200, (), b"")

    def _name(self, exchange: Exchange) -> bytes:
        return field(exchange.request.headers, SESSION_ID)

    def _session_of(self, exchange: Exchange, message: JsonObject) -> LegacySession | None:
        """Return the session that a request names; where that can't be, it is answered."""
        name = self._name(exchange)
        session = self._sessions.get(name)
        version = field(exchange.request.headers, VERSION)
        if not name:
            self._refuse(exchange, 400, "the Mcp-Session-Id is missing; begin with initialize", message)
        elif session is None or session.is_over:
            self._sessions.pop(name, None)
            self._refuse(exchange, 404, "there is no such session any more; begin anew with initialize", message)
        elif version and version not in LEGACY_VERSIONS and version != session.version:
            self._refuse(exchange, 400, "the MCP-Protocol-Version is not the one that was agreed on", message)
        else:
            return session
        return None

    @staticmethod
    def _refuse(exchange: Exchange, status: int, why: str, message: JsonObject) -> None:
        message_id = message.get("id") if "method" in message else None
        exchange.respond(status, JSON, error_answer(message_id, why, {}))

    def _look_round(self) -> None:
        """Keep streams alive, and end children that nobody needs."""
        self._timer = asyncio.get_running_loop().call_later(PING_SECONDS, self._look_round)
        self._children.look()
        now = time.monotonic()
        for name, session in list(self._sessions.items()):
            session.ping()
            if session.is_over or (session.is_idle and now - session.used > IDLE_SECONDS):
                del self._sessions[name]
                session.close()
        self._modern.look_round(now - IDLE_SECONDS)

    def readiness(self) -> str:
        """Return why the command could not be started when that was last tried; empty if it could."""
        return self._why

    def hang_up(self) -> None:
        """End the streams that would stay open for ever."""
        for session in self._sessions.values():
            session.hang_up()
        self._modern.hang_up()

    def close(self) -> None:
        """Let go of everything; see `end`."""
        self._timer.cancel()
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        self._modern.close()

    async def end(self) -> None:
        """End all children, and wait for it."""
        await self._children.end()
