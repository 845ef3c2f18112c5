"""One conversation between a client and a server: bytes in, decisions out."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from rearview.core.actions import NOISE, PASS, SWALLOW, Answer, FromClient, FromServer, Replace
from rearview.core.inflight import Pending
from rearview.core.inject import HINT_LIMIT_BYTES, error_answer
from rearview.core.message import JsonObject, exact_id, id_key, look, look_at_batch, may_be_message
from rearview.core.restart import Handshake

if TYPE_CHECKING:
    from rearview.core.calls import CallDesk

LOOK_FIRST_BYTES = HINT_LIMIT_BYTES
"""Longer lines of the server are forwarded first and looked at afterwards: they never get a hint."""


class Observer(Protocol):
    """Is told what a session learns about its server. Must not raise."""

    def on_server(self, client: Mapping[str, Any], server: Mapping[str, Any]) -> None:
        """Both sides have named themselves: `clientInfo` and `serverInfo`."""
        ...

    def on_tools(self, tools: list[Any]) -> None:
        """A `tools/list` answer has passed, or one page of it."""
        ...

    def on_restart(self, exit_code: int) -> None:
        """The server, started again after it had ended with `exit_code`, has given its first answer."""
        ...


class Session:
    """Reads both directions of one connection and says what becomes of each line.

    Any line may come at any time; no message makes it raise. All that it can't read, and all that it does not know,
    is `PASS`.

    `load` brings what judges the calls and what watches. It is called once, by the first call or by `wake`: importing
    all that takes longer than a server's `initialize`. `later` has the large lines that were forwarded first.
    """

    def __init__(self, load: "Callable[[], tuple[CallDesk, Observer]]") -> None:
        self._load = load
        self._parts: tuple[CallDesk, Observer] | None = None
        self._introduced: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
        self._listed: list[list[Any]] = []
        self._pending: dict[Any, Pending] = {}
        self._asked: set[Any] = set()
        self._stale: set[Any] = set()
        self.later: list[bytes] = []
        self._handshake = Handshake()
        self._client: Mapping[str, Any] = {}

    @property
    def waiting(self) -> int:
        """How many requests of the client have no answer yet."""
        return len(self._pending)

    def wake(self) -> "tuple[CallDesk, Observer]":
        """Load what judges and watches, unless it is there; tell it what has been seen so far."""
        if self._parts is None:
            self._parts = desk, observer = self._load()
            if self._introduced is not None:
                observer.on_server(*self._introduced)
            for tools in self._listed:
                self._show(tools, desk, observer)
            self._listed.clear()
        return self._parts

    @staticmethod
    def _show(tools: list[Any], desk: "CallDesk", observer: Observer) -> None:
        desk.learn_tools(tools)
        observer.on_tools(tools)

    def from_client(self, line: bytes, now: float) -> FromClient:
        """Decide about a line of the client. `now` is a monotonic clock in seconds."""
        body = look(line)
        if body is None:
            for part in look_at_batch(line):
                self._note(part, line, now, alone=False)
            return PASS
        return self._note(body, line, now, alone=True)

    def _note(self, body: JsonObject, line: bytes, now: float, *, alone: bool) -> FromClient:
        method = body.get("method")
        if "id" not in body:
            return self._notification(method, body, line)
        if type(method) is not str:
            return self._answer_of_client(body)
        message_id = body["id"]
        plain = type(message_id) is int or type(message_id) is str
        if type(message_id) is float and alone:
            message_id = exact_id(line, message_id)
        pending = Pending(message_id, method)
        if method == "tools/call":
            held = (self._parts or self.wake())[0].request(pending, body, now, self._pending, may_hold=alone)
            if held is not None:
                return Answer(held)
        elif method == "initialize" and alone:
            self._handshake.start(line)
            self._client = _mapping(_mapping(body.get("params")).get("clientInfo"))
        self._pending[message_id if plain else id_key(message_id)] = pending
        return PASS

    def _notification(self, method: object, body: JsonObject, line: bytes) -> FromClient:
        if method == "notifications/initialized":
            self._handshake.initialized(line)
        elif method == "notifications/cancelled":
            pending = self._pending.get(id_key(_mapping(body.get("params")).get("requestId")))
            if pending is not None:
                pending.cancelled = True
        return PASS

    def _answer_of_client(self, body: JsonObject) -> FromClient:
        key = id_key(body["id"])
        self._asked.discard(key)
        if key in self._stale:
            # It answers a question of the server that died; the new one never asked.
            self._stale.discard(key)
            return SWALLOW
        return PASS

    def from_server(self, line: bytes, now: float) -> FromServer:
        """Decide about a line of the server."""
        if line[:1] != b"{" and not may_be_message(line):
            return NOISE
        if len(line) > LOOK_FIRST_BYTES and not self._handshake.waiting:
            self.later.append(line)
            return PASS
        return self._look_at_server(line, now)

    def catch_up(self, now: float) -> None:
        """Look at the large lines that were forwarded first. Call it when everything has been written."""
        later, self.later = self.later, []
        for line in later:
            self._look_at_server(line, now)

    def _look_at_server(self, line: bytes, now: float) -> FromServer:
        body = look(line)
        if body is None:
            for part in look_at_batch(line):
                if "method" not in part:
                    self._answered(part, line, now, alone=False)
            return PASS
        if "method" in body:
            if "id" in body:
                self._asked.add(id_key(exact_id(line, body["id"])))
            return PASS
        return self._answered(body, line, now, alone=True)

    def _answered(self, body: JsonObject, line: bytes, now: float, *, alone: bool) -> FromServer:
        message_id = body.get("id")
        if type(message_id) is float:
            message_id = exact_id(line, message_id)
        plain = type(message_id) is int or type(message_id) is str
        pending = self._pending.pop(message_id if plain else id_key(message_id), None)
        if pending is None:
            return self._handshake.answered(message_id, body) or PASS
        if self._handshake.restarted:
            self._handshake.restarted = False
            self.wake()[1].on_restart(self._handshake.exit_code)
        if pending.call is not None:
            hinted = self.wake()[0].reply(pending, body, line, now, may_hint=alone)
            return PASS if hinted is None else Replace(hinted)
        self._observe(pending.method, body)
        return PASS

    def _observe(self, method: str, body: JsonObject) -> None:
        result = body.get("result")
        if not isinstance(result, dict):
            return
        if method == "initialize":
            self._handshake.finish()
            self._meet(_mapping(result.get("serverInfo")))
        elif method == "server/discover":
            info = _mapping(_mapping(result.get("_meta")).get("io.modelcontextprotocol/serverInfo"))
            self._meet(info)
        elif method == "tools/list" and isinstance(result.get("tools"), list):
            if self._parts is None:
                self._listed.append(result["tools"])
            else:
                self._show(result["tools"], *self._parts)

    def _meet(self, server: Mapping[str, Any]) -> None:
        self._introduced = (self._client, server)
        if self._parts is not None:
            self._parts[1].on_server(self._client, server)

    def server_gone(self, exit_code: int, stderr_tail: str, now: float) -> list[bytes]:
        """Return an answer for each request in flight. What came from the dead server before counts as it is."""
        what = f"The MCP server ended with exit code {exit_code} before it answered."
        answers = []
        for pending in self._pending.values():
            if pending.call is not None:
                self.wake()[0].lost(pending, now)
            data = {"exitCode": exit_code, "stderr": stderr_tail}
            answers.append(error_answer(pending.id, f"{what} {stderr_tail}".rstrip(), data))
        self._pending.clear()
        self._stale |= self._asked
        self._asked.clear()
        self._handshake.gone(exit_code)
        return answers

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
            if pending.call is not None:
                self.wake()[0].unanswered(pending, now)
        self._pending.clear()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
