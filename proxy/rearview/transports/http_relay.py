"""Relays between HTTP clients and an HTTP server: every body as it came, and a copy of each message to a session."""

import time

from rearview.core.actions import PASS, Answer, FromServer, Replace, Swallow
from rearview.core.events import Event, EventReader, with_data
from rearview.core.inject import HINT_LIMIT_BYTES, error_answer
from rearview.core.meeting import MakeParts
from rearview.core.message import look
from rearview.core.session import Session
from rearview.errors import PeerError
from rearview.transports.guard import Guard
from rearview.transports.http_auth import Names
from rearview.transports.http_client import Origin, Sent
from rearview.transports.http_exchange import Exchange
from rearview.transports.http_heads import ENDPOINT, JSON, SESSION_ID, Headers, field, travelling
from rearview.transports.http_sessions import Sessions
from rearview.transports.judge import Report

LOOK_LIMIT_BYTES = 8 * 2**20
"""Of a longer JSON answer no copy is kept: its call ends without an outcome."""

_ASKING = frozenset({401, 403})


class HttpRelay:
    """Answers each request of a client by what the server answers to it, or by a held call."""

    def __init__(self, origin: Origin, guard: Guard, make: MakeParts, report: Report) -> None:
        self.origin = origin
        self.sessions = Sessions(make)
        self.names = Names(origin, ENDPOINT)
        self._guard = guard
        self._report = report
        self._reported: set[str] = set()

    def handle(self, exchange: Exchange) -> None:
        """Take one request."""
        request = exchange.request
        objection = self._guard.objection(request.headers)
        if objection:
            exchange.respond(403, JSON, error_answer(None, objection, {}))
            return
        session = self.sessions.of(request.headers)
        if request.method == b"POST" and request.body:
            answer = self._judged(session, request.body)
            if answer is not None:
                exchange.respond(200, JSON, answer)
                return
        _Hop(self, exchange, session).go()

    def _judged(self, session: Session, body: bytes) -> bytes | None:
        """Return what to answer in the server's place, if anything."""
        try:
            action = session.from_client(body, time.monotonic())
        except Exception as error:  # noqa: BLE001 - the last net under the conversation
            self.failed(type(error).__name__)
            return None
        return action.line if isinstance(action, Answer) else None

    def failed(self, error: str) -> None:
        """Report a failure of our own, once of each kind."""
        if error not in self._reported:
            self._reported.add(error)
            self._report("relay.failed", {"error": error, "what_now": "the message passed as it was"})

    def target(self, asked: bytes) -> bytes:
        """Return what to ask the server for: our endpoint is its own, and all else stands where it stands there."""
        path, mark, query = asked.partition(b"?")
        if path == ENDPOINT or path.startswith(ENDPOINT + b"/"):
            path = self.origin.path.rstrip(b"/") + path[len(ENDPOINT) :] or b"/"
        path = self.names.asked(path)
        if self.origin.query and not mark:
            mark, query = b"?", self.origin.query
        return path + mark + query

    def readiness(self) -> str:
        """Return nothing: whether the server answers is known by asking it, and that is its own probe's business."""
        return ""

    def close(self) -> None:
        """Let go of the server and of all sessions."""
        self.sessions.close()
        self.origin.close()


class _Hop:
    """One request on its way to the server, and the answer on its way back."""

    def __init__(self, relay: HttpRelay, exchange: Exchange, session: Session) -> None:
        self._relay = relay
        self._exchange = exchange
        self._session = session
        self._name = field(exchange.request.headers, SESSION_ID)
        self._sent: Sent | None = None
        self._body: list[bytes] | None = None
        self._size = 0
        self._head: tuple[int, bytes, Headers] = (0, b"", ())
        self._events: EventReader | None = None

    def go(self) -> None:
        request, origin = self._exchange.request, self._relay.origin
        headers = travelling(request.headers, (b"host", b"accept-encoding"))
        # The copy that we read must not be compressed.
        headers += [(b"host", origin.authority), (b"accept-encoding", b"identity")]
        if request.body or request.method in {b"POST", b"PUT", b"PATCH"}:
            headers.append((b"content-length", b"%d" % len(request.body)))
        self._exchange.on_gone = self._left
        target = self._relay.target(request.target)
        self._sent = origin.send(request.method, target, headers, request.body, self)
        self._exchange.on_pause = self._sent.pause

    # the server's answer

    def on_head(self, status: int, reason: bytes, headers: Headers) -> None:
        kind = field(headers, b"content-type").lower()
        name = field(headers, SESSION_ID)
        if name and name != self._name:
            self._name = name
            self._relay.sessions.keep(name, self._session)
        if status in _ASKING:
            headers = self._relay.names.challenge(headers, self._exchange.request.headers)
        self._head = status, reason, headers
        length = field(headers, b"content-length")
        size = int(length) if length.isdigit() else None
        if kind.startswith(b"text/event-stream"):
            self._events = EventReader()
        elif kind.startswith(b"application/json"):
            self._body = []
            if size is None or size <= HINT_LIMIT_BYTES:
                # Short enough to be looked at before it goes on.
                return
        self._exchange.start(status, travelling(headers), reason, size)

    def on_data(self, data: bytes) -> None:
        if self._events is not None:
            self._exchange.write(self._streamed(data, self._events))
            self._catch_up()
            return
        if self._body is None:
            self._exchange.write(data)
            return
        self._body.append(data)
        self._size += len(data)
        if self._exchange.started:
            self._exchange.write(data)
            if self._size > LOOK_LIMIT_BYTES:
                self._body = None
        elif self._size > HINT_LIMIT_BYTES:
            status, reason, headers = self._head
            self._exchange.start(status, travelling(headers), reason)
            self._exchange.write(b"".join(self._body))

    def on_end(self) -> None:
        status, reason, headers = self._head
        body = None if self._body is None else b"".join(self._body)
        if self._exchange.started:
            self._exchange.end()
            if body:
                self._seen(body)
                self._catch_up()
        else:
            whole = body or b""
            action = self._seen(whole) if whole else PASS
            if isinstance(action, Replace):
                whole = action.line
            request = self._exchange.request
            whole = self._relay.names.document(request.target, whole, request.headers)
            self._exchange.respond(status, travelling(headers), whole, reason)
        self._over()

    def on_failure(self, error: PeerError) -> None:
        if self._exchange.started:
            self._exchange.abort()
        else:
            body = look(self._exchange.request.body) or {}
            self._exchange.respond(502, JSON, error_answer(body.get("id"), f"{error}", {}))
        self._relay.sessions.done(self._session)

    def _left(self) -> None:
        """The client has left: so do we, and the server makes of it what its revision says."""
        if self._sent is not None:
            self._sent.give_up()
        self._over()

    def _over(self) -> None:
        status, request = self._head[0], self._exchange.request
        gone = status == 404 or (request.method == b"DELETE" and 0 < status < 300)  # noqa: PLR2004 - HTTP's own numbers
        if self._name and gone:
            self._relay.sessions.drop(self._name)
        else:
            self._relay.sessions.done(self._session)

    # a copy for the session

    def _streamed(self, data: bytes, events: EventReader) -> bytes:
        """Return what goes on of a part of a stream: itself, but for an event that gets a hint."""
        whole = events.is_between
        found = events.receive(data)
        if not found:
            return data
        # An event that came in parts has gone on in parts, and so will what follows the last whole one.
        changed = [self._changed(event, may_change=whole or place > 0) for place, event in enumerate(found)]
        if all(new is event.raw for new, event in zip(changed, found, strict=True)):
            return data
        begun = 0 if whole else len(data) - sum(len(event.raw) for event in found[1:]) - events.waiting
        return data[:begun] + b"".join(changed if whole else changed[1:]) + data[len(data) - events.waiting :]

    def _changed(self, event: Event, *, may_change: bool) -> bytes:
        if event.kind != b"message" or not event.data:
            return event.raw
        action = self._seen(event.data, may_change=may_change and event.is_single)
        return with_data(event, action.line) if isinstance(action, Replace) else event.raw

    def _seen(self, message: bytes, *, may_change: bool = True) -> FromServer:
        try:
            action = self._session.from_server(message, time.monotonic(), may_change=may_change)
        except Exception as error:  # noqa: BLE001 - the last net under the conversation
            self._relay.failed(type(error).__name__)
            return PASS
        return PASS if isinstance(action, Swallow) else action

    def _catch_up(self) -> None:
        if self._session.later:
            try:
                self._session.catch_up(time.monotonic())
            except Exception as error:  # noqa: BLE001 - it has been forwarded
                self._relay.failed(type(error).__name__)
