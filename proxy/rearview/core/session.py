"""One conversation between a client and a server: bytes in, decisions out."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rearview.core.actions import NOISE, PASS, SWALLOW, Answer, FromClient, FromServer, Replace
from rearview.core.envelope import ANSWER_BYTES, Envelope
from rearview.core.inflight import Pending
from rearview.core.inject import HINT_LIMIT_BYTES, error_answer
from rearview.core.meeting import Meeting, Parts, as_mapping
from rearview.core.message import JsonObject, exact_id, id_key, look, look_at_batch, may_be_message
from rearview.core.restart import Handshake

if TYPE_CHECKING:
    from rearview_interceptors.api import Call

LOOK_FIRST_BYTES = HINT_LIMIT_BYTES
"""Longer lines of the server are forwarded first and looked at afterwards: they never get a hint."""


class Session:
    """Reads both directions of one connection and says what becomes of each line.

    Any line may come at any time; no message makes it raise. All that it can't read, and all that it does not know,
    is `PASS`.

    `load` brings what judges the calls and what watches. It is called once, by the first call or by `wake`: importing
    all that takes longer than a server's `initialize`; until then it may be exchanged.
    `later` has the large lines that were forwarded first.
    """

    def __init__(self, load: Callable[[], Parts]) -> None:
        self.load = load
        self._parts: Parts | None = None
        self._pending: dict[Any, Pending | Call] = {}
        self._asked: set[Any] = set()
        self._stale: set[Any] = set()
        self.later: list[bytes] = []
        self._handshake = Handshake()
        self._envelope = Envelope()
        self._meeting = Meeting()

    @property
    def waiting(self) -> int:
        """How many requests of the client have no answer yet."""
        return len(self._pending)

    def wake(self) -> Parts:
        """Load what judges and watches, unless it is there; tell it what has been seen so far."""
        if self._parts is None:
            self._parts = self.load()
            self._meeting.join(self._parts)
        return self._parts

    def from_client(self, line: bytes, now: float) -> FromClient:
        """Decide about a line of the client. `now` is a monotonic clock in seconds."""
        body = look(line)
        if body is None:
            for part in look_at_batch(line):
                self._note(part, line, now, False)
            return PASS
        key = body.get("id")
        if body.get("method") != "tools/call" or (type(key) is not int and type(key) is not str):
            return self._note(body, line, now, True)
        # The usual case, without detours.
        call = (self._parts or self.wake())[0].request(key, body, len(line), now, self._pending)
        if isinstance(call, bytes):
            return Answer(call)
        self._pending[key] = call or Pending(key, "tools/call")
        return PASS

    def _note(self, body: JsonObject, line: bytes, now: float, alone: bool) -> FromClient:
        method = body.get("method")
        if "id" not in body:
            return self._notification(method, body, line, now)
        if type(method) is not str:
            return self._answer_of_client(body)
        message_id = body["id"]
        if type(message_id) is int or type(message_id) is str:
            key = message_id
        else:
            message_id = exact_id(line, message_id) if alone else message_id
            key = id_key(message_id)
        if method == "tools/call":
            desk = (self._parts or self.wake())[0]
            # An answer of ours must bear the very id; for one that is written oddly (1E2) there is none.
            plain = alone and type(message_id) is not float
            call = desk.request(message_id, body, len(line), now, self._pending if plain else None)
            if isinstance(call, bytes):
                return Answer(call)
            self._pending[key] = call or Pending(message_id, method)
            return PASS
        if method == "initialize" and alone:
            self._handshake.start(line)
            self._meeting.asked(body)
        self._pending[key] = Pending(message_id, method)
        return PASS

    def _notification(self, method: object, body: JsonObject, line: bytes, now: float) -> FromClient:
        if method == "notifications/initialized":
            self._handshake.initialized(line)
        elif method == "notifications/cancelled":
            key = id_key(as_mapping(body.get("params")).get("requestId"))
            call = self._pending.get(key)
            if call is not None and not isinstance(call, Pending):
                # Whatever the server may still answer is no outcome of the call.
                self.wake()[0].unanswered(call, now)
                self._pending[key] = Pending(call.id, "tools/call")
        return PASS

    def _answer_of_client(self, body: JsonObject) -> FromClient:
        key = id_key(body["id"])
        self._asked.discard(key)
        if key in self._stale:
            # It answers a question of the server that died; the new one never asked.
            self._stale.discard(key)
            return SWALLOW
        return PASS

    def from_server(self, line: bytes, now: float, *, late: bool = False, may_change: bool = True) -> FromServer:
        """Decide about a line of the server; `late` is for `catch_up`. Without `may_change` it gets no hint."""
        size = len(line)
        if size <= ANSWER_BYTES and self._parts is not None:
            plain = self._envelope.open(line)
            call = None if plain is None else self._pending.get(plain[0])
            # Not a function of its own: this happens for every message.
            if plain is not None and call is not None and not isinstance(call, Pending):
                desk = self._parts[0]
                if desk.is_plain(plain[1]):
                    del self._pending[plain[0]]
                    desk.succeeded(call, plain[1], size, now)
                    return PASS
        return self._read(line, now, late, may_change)

    def _read(self, line: bytes, now: float, late: bool, may_change: bool) -> FromServer:
        if len(line) > LOOK_FIRST_BYTES and not late and not self._handshake.waiting and may_be_message(line):
            self.later.append(line)
            return PASS
        body = look(line)
        if body is None and not may_be_message(line):
            return NOISE
        if body is None:
            for part in look_at_batch(line):
                if "method" not in part:
                    self._answered(part, line, now, False)
            return PASS
        if "method" in body:
            if "id" in body:
                key = id_key(exact_id(line, body["id"]))
                self._asked.add(key)
                # A new server counts its questions from the start again; from now on the answer is meant for it.
                self._stale.discard(key)
            return PASS
        return self._answered(body, line, now, may_change)

    @property
    def unsettled(self) -> bool:
        """Whether there are finished calls that nobody has been told of: see `settle`."""
        return self._parts is not None and self._parts[0].unsettled

    def settle(self) -> None:
        """Tell of the finished calls that were kept back. Call it when nothing else happens."""
        if self._parts is not None:
            self._parts[0].settle()

    def catch_up(self, now: float) -> None:
        """Look at the large lines that were forwarded first. Call it when everything has been written."""
        later, self.later = self.later, []
        for line in later:
            self.from_server(line, now, late=True)

    def _answered(self, body: JsonObject, line: bytes, now: float, alone: bool) -> FromServer:
        key = message_id = body.get("id")
        if type(key) is not int and type(key) is not str:
            message_id = exact_id(line, message_id)
            key = id_key(message_id)
        pending = self._pending.pop(key, None)
        if pending is None:
            return self._handshake.answered(message_id, body) or PASS
        if self._handshake.restarted:
            self._handshake.restarted = False
            self.wake()[1].on_restart(self._handshake.exit_code)
        if isinstance(pending, Pending):
            self._observe(pending.method, body)
            return PASS
        hinted = (self._parts or self.wake())[0].reply(pending, body, line, now, alone)
        if hinted is not None:
            return Replace(hinted)
        self._envelope.learn(line, body)
        return PASS

    def _observe(self, method: str, body: JsonObject) -> None:
        result = body.get("result")
        if isinstance(result, dict):
            if method == "initialize":
                self._handshake.finish()
            self._meeting.answered(method, result)

    def server_gone(self, exit_code: int, stderr_tail: str, now: float) -> list[bytes]:
        """Return an answer for each request in flight. What came from the dead server before counts as it is."""
        what = f"The MCP server ended with exit code {exit_code} before it answered."
        answers = []
        for pending in self._pending.values():
            if not isinstance(pending, Pending):
                self.wake()[0].lost(pending, now)
            data = {"exitCode": exit_code, "stderr": stderr_tail}
            answers.append(error_answer(pending.id, f"{what} {stderr_tail}".rstrip(), data))
        self._pending.clear()
        self._stale |= self._asked
        self._asked.clear()
        self._handshake.gone(exit_code)
        self._envelope.forget()
        return answers

    def lost(self, message_id: Any, why: str, data: dict[str, Any], now: float) -> bytes:
        """Return an answer for one request that the server will not answer; `why` is no fault of the request."""
        pending = self._pending.pop(id_key(message_id), None)
        if pending is not None and not isinstance(pending, Pending):
            self.wake()[0].lost(pending, now)
        return error_answer(message_id, why, data)

    def resume(self) -> list[bytes]:
        """Return what to send to a new server before the client's next line; see `resuming`."""
        return self._handshake.replay()

    @property
    def resuming(self) -> bool:
        """Whether the client's lines have to wait for the new server's answer to `initialize`."""
        return self._handshake.waiting

    def give_up_resuming(self) -> None:
        """Stop waiting: the new server did not answer `initialize` in time, so the client may try itself."""
        self._handshake.waiting = False

    def close(self, now: float) -> None:
        """Report the calls that never got an answer."""
        for pending in self._pending.values():
            if not isinstance(pending, Pending):
                self.wake()[0].unanswered(pending, now)
        self._pending.clear()
        self.settle()
