"""Clients of the revisions without sessions (2026-07-28): they share one child, under ids of ours."""

import secrets
import time
from collections import OrderedDict
from hashlib import blake2b
from typing import Any

from rearview.core.inject import encode, error_answer
from rearview.core.meeting import MakeParts
from rearview.core.message import JsonObject, exact_id, look
from rearview.core.renaming import CANCELLED, ENDED_SUBSCRIPTION, ID, PROGRESS, TOKEN, swap
from rearview.core.session import Session
from rearview.errors import PeerError
from rearview.transports.children import Children, Running
from rearview.transports.ear import Ear
from rearview.transports.http_asked import LISTEN, Asked, names_in
from rearview.transports.http_exchange import Exchange
from rearview.transports.http_fields import Parameter, parameters
from rearview.transports.http_heads import JSON, field
from rearview.transports.http_routing import MISMATCH, disagreement, objection, status_of
from rearview.transports.judge import Report
from rearview.transports.restarts import Restarts

CLIENTS_LIMIT = 1_000
BEHIND_BYTES = 16 * 2**20
"""A client that leaves so much unread loses its stream: the child belongs to others, too."""

NO_METHOD = -32601
INVALID_REQUEST = -32600


class ModernClients:
    """One child for all, started for the first request and again when it has ended."""

    def __init__(self, children: Children, make: MakeParts, report: Report) -> None:
        self._children = children
        self._make = make
        self._report = report
        self._restarts = Restarts(children.command)
        self._child: Running | None = None
        self._exit_code: int | None = None
        self._used = time.monotonic()
        # Nobody can guess the number of another client's request.
        self._count = 2**40 + secrets.randbelow(2**51)
        self._asked: dict[int, Asked] = {}
        self._ears: OrderedDict[bytes, Ear] = OrderedDict()
        self._parameters: dict[str, list[Parameter]] = {}
        self._reported = False

    # the clients

    def post(self, exchange: Exchange, line: bytes, message: JsonObject | None) -> None:
        """Take one request."""
        self._used = time.monotonic()
        method = message.get("method") if message else None
        if message is None or type(method) is not str:
            _refuse(exchange, 400, INVALID_REQUEST, "one request in each POST, in this revision", None)
        elif "id" not in message:
            # This revision has none over HTTP, and by an id alone one client could cancel the call of another.
            exchange.respond(202, (), b"")
        elif type(message["id"]) not in {int, str, float}:
            _refuse(exchange, 400, INVALID_REQUEST, "the id has to be a string or a number", None)
        elif (found := self._objection(exchange, message, method)) is not None:
            _refuse(exchange, 400, *found, exact_id(line, message["id"]))
        elif method == "initialize":
            # It would begin a session with a child that belongs to all.
            _refuse(exchange, 404, NO_METHOD, "there is no initialize in this revision", exact_id(line, message["id"]))
        else:
            self._ask(exchange, line, message, method)

    def _objection(self, exchange: Exchange, message: JsonObject, method: str) -> tuple[int, str] | None:
        headers = exchange.request.headers
        found = objection(headers, message)
        if found is None and method == "tools/call":
            params = message["params"]
            wanted = self._parameters.get(f"{params.get('name')}")
            why = disagreement(headers, params.get("arguments"), wanted) if wanted else ""
            found = (MISMATCH, why) if why else None
        return found

    def _ask(self, exchange: Exchange, line: bytes, message: JsonObject, method: str) -> None:
        try:
            child = self._running()
        except PeerError as error:
            exchange.respond(502, JSON, error_answer(exact_id(line, message["id"]), f"{error}", {}))
            return
        self._count += 1
        asked = Asked(self._count, exchange, self._ear_of(exchange, message), method)
        number = b"%d" % asked.number
        renamed = swap(line, ID, number)
        if renamed is None:
            _refuse(exchange, 400, INVALID_REQUEST, "the id can't be found in the message", None)
            return
        line, asked.id = renamed
        if "progressToken" in message["params"]["_meta"] and (renamed := swap(line, TOKEN, number)) is not None:
            line, asked.token = renamed
        through, held = asked.ear.of_client(line)
        if not through:
            exchange.respond(200, JSON, _back(held, ID, asked.id).rstrip(b"\n"))
            return
        self._asked[asked.number] = asked
        exchange.on_gone = lambda: self._left(asked)
        exchange.on_pause = asked.pause
        child.send(through)

    def _ear_of(self, exchange: Exchange, message: JsonObject) -> Ear:
        """Return the ear for this client; what it heard of one is not told to another."""
        info = message["params"]["_meta"].get("io.modelcontextprotocol/clientInfo")
        name = f"{info.get('name')}" if isinstance(info, dict) else ""
        told = name.encode("utf-8", "surrogatepass") + b"\0" + field(exchange.request.headers, b"authorization")
        key = blake2b(told, digest_size=16).digest()
        ear = self._ears.get(key)
        if ear is None:
            client = f"http-{time.time():.0f}-{key.hex()[:12]}"
            ear = self._ears[key] = Ear(Session(lambda: self._make(client)), self._report, self._children.errors)
            if len(self._ears) > CLIENTS_LIMIT:
                self._ears.popitem(last=False)[1].session.close(time.monotonic())
        else:
            self._ears.move_to_end(key)
        return ear

    def _left(self, asked: Asked) -> None:
        """A client that leaves has cancelled."""
        if self._asked.pop(asked.number, None) is None:
            return
        params = {"requestId": asked.number, "reason": "the client has left"}
        line = encode({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        asked.ear.of_client(line)
        # A cancelled request gets no answer, so the session would wait for it for ever.
        asked.ear.of_server(error_answer(asked.number, "cancelled", {}))
        if self._child is not None:
            self._child.send(line)

    # the child

    def _running(self) -> Running:
        if self._child is None:
            again = None if self._exit_code is None else self._restarts.start_again(self._exit_code)
            self._child = self._children.start(self._wrote, self._gone, again)
        return self._child

    def _wrote(self, lines: list[bytes]) -> None:
        ears = set()
        for line in lines:
            if type(line) is not bytes:
                self._report("relay.line_too_long", {"what_now": "the server is ended: its message can't be delivered"})
                self._end_child()
                return
            body = look(line)
            if body is None:
                self._children.errors.send(line)
            elif "method" not in body:
                asked = self._asked.pop(body.get("id", 0), None) if type(body.get("id")) is int else None
                if asked is not None:
                    ears.add(asked.ear)
                    self._answer(asked, line, body)
            elif "id" in body:
                self._decline(line, body)
            else:
                self._tell(line, body)
        for ear in ears:
            ear.rest()

    def _answer(self, asked: Asked, line: bytes, body: JsonObject) -> None:
        line = _back(asked.ear.of_server(line), ID, asked.id)
        result = body.get("result")
        if isinstance(result, dict):
            if asked.method == LISTEN:
                line = _back(line, ENDED_SUBSCRIPTION, asked.id)
            elif asked.method == "tools/list" and isinstance(result.get("tools"), list):
                for tool in result["tools"]:
                    if isinstance(tool, dict):
                        self._parameters[f"{tool.get('name')}"] = parameters(tool)
        self._used = time.monotonic()
        asked.stream.finish(line, status_of(body))

    def _decline(self, line: bytes, body: JsonObject) -> None:
        """This revision knows no requests of a server, and there is nobody to bring one to."""
        error = {"code": NO_METHOD, "message": "there are no requests of the server in this revision"}
        if self._child is not None:
            self._child.send(encode({"jsonrpc": "2.0", "id": exact_id(line, body["id"]), "error": error}))

    def _tell(self, line: bytes, body: JsonObject) -> None:
        """Bring a notification to the stream of its request, under the names that the client knows."""
        found = names_in(body)
        if found is None:
            asked = self._only_one()
        else:
            path, number = found
            asked = self._asked.get(number) if type(number) is int else None
            if asked is not None:
                line = _back(line, path, asked.token if path == PROGRESS else asked.id)
        if asked is None:
            if found is None and not self._reported:
                self._reported = True
                self._report("relay.not_delivered", {"method": body["method"], "why": "it names no request"})
            return
        asked.ear.of_server(line)
        asked.stream.send(line)
        if found is not None and found[0] == CANCELLED:
            self._asked.pop(asked.number, None)
            asked.stream.end()
        elif asked.is_paused:
            asked.behind += len(line)
            if asked.behind > BEHIND_BYTES:
                asked.exchange.abort()
                self._left(asked)

    def _only_one(self) -> Asked | None:
        """Return the request that a notification without a name must belong to, if no other client waits."""
        calls = [asked for asked in self._asked.values() if asked.method != LISTEN]
        return calls[-1] if calls and all(asked.ear is calls[-1].ear for asked in calls) else None

    def _gone(self, exit_code: int, last_words: str) -> None:
        self._child, self._exit_code = None, exit_code
        self._report("server.ended", {"exit_code": exit_code, "what_now": "the next request starts it again"})
        for ear in self._ears.values():
            answers = ear.session.server_gone(exit_code, last_words, time.monotonic())
            for line in answers:
                self._wrote([line])
        for asked in list(self._asked.values()):
            asked.stream.end()
        self._asked.clear()

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.server.child.end_group()

    # time

    def look_round(self, since: float) -> None:
        """Keep streams alive; end a child that nobody has used since then."""
        for asked in self._asked.values():
            asked.stream.ping()
        if self._child is not None and not self._asked and self._used < since:
            self._child.end()
            self._child = self._exit_code = None

    def hang_up(self) -> None:
        """End the streams that would stay open for ever."""
        for asked in list(self._asked.values()):
            if asked.method == LISTEN:
                self._left(asked)
                asked.stream.end()

    def close(self) -> None:
        """Let go of the child, and of all clients."""
        if self._child is not None:
            self._child.end()
            self._child = None
        for ear in self._ears.values():
            ear.session.close(time.monotonic())


def _back(line: bytes, path: tuple[str | int, ...], value: bytes) -> bytes:
    """Return the line with the client's own name in place of ours."""
    changed = swap(line, path, value)
    return line if changed is None else changed[0]


def _refuse(exchange: Exchange, status: int, code: int, why: str, message_id: Any) -> None:
    error = {"code": code, "message": why}
    exchange.respond(status, JSON, encode({"jsonrpc": "2.0", "id": message_id, "error": error}))
