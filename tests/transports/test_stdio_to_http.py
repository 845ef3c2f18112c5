import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from served import Answer, Asked, Upstream, call, result, streamed, whole
from wrapped import PATIENCE_SECONDS, Wrapped, environment, eventually

MODERN_VERSION = "2026-07-28"
MODERN = {"io.modelcontextprotocol/protocolVersion": MODERN_VERSION}
ENDING_SECONDS = 3.0
"""The promise is two; the machine may be busy."""

ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
NOT_OFFERED = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"
LOST = whole(
    b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}', status="404 NF"
)


@pytest.fixture(autouse=True)
def settings(tmp_path: Path) -> None:
    config = tmp_path / ".config" / "rearview" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[learner]\nenabled = false\n[warn]\ncontrol_share = 0.0\n")


class Remote(Upstream):
    """A server of a legacy revision: `sessions` numbers those that began; calls and streams are answered as told."""

    def __init__(self, calls: Callable[[Asked], Answer] | None = None, stream: Answer = NOT_OFFERED) -> None:
        super().__init__(self._reply)
        self.calls = calls or (lambda asked: whole(result(asked.message["id"], "fine")))
        self.stream: Answer | Callable[[Asked], Answer] = stream
        self.sessions = 0

    def _reply(self, asked: Asked) -> Answer:
        if asked.head.startswith(b"GET"):
            return self.stream(asked) if callable(self.stream) else self.stream
        if asked.head.startswith(b"DELETE"):
            return ACCEPTED
        if not asked.body.startswith(b"{"):
            return self.calls(asked)
        method = asked.message.get("method")
        if method == "initialize":
            self.sessions += 1
            said = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "remote"}}
            body = json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], "result": said}).encode()
            return whole(body, more=f"Mcp-Session-Id: s{self.sessions}\r\n")
        return self.calls(asked) if "id" in asked.message and method else ACCEPTED

    @property
    def methods(self) -> list[str]:
        posts = [each for each in self.asked if each.body.startswith(b"{")]
        return [str(each.message.get("method", "")) for each in posts]

    def heads(self, start: bytes) -> list[dict[str, str]]:
        found = []
        for each in self.asked:
            if each.head.startswith(start) or (each.body.startswith(b"{") and start in each.body):
                fields = [line.partition(b": ") for line in each.head.splitlines()[1:]]
                found.append({name.decode().lower(): value.decode() for name, _, value in fields if name})
        return found

    def has_got(self, method: str) -> bool:
        return eventually(lambda: method in self.methods)


@pytest.fixture
def remote() -> Iterator[Remote]:
    server = Remote()
    server.start()
    yield server
    server.stop()


@contextmanager
def relay_to(home: Path, port: int, *options: str, stdin: Any = subprocess.PIPE, **more: str) -> Iterator[Wrapped]:
    argv = [sys.executable, "-m", "mcp_rearview", "wrap", "--url", f"http://127.0.0.1:{port}/mcp", *options]
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, stdin=stdin, stdout=pipe, stderr=pipe, env=environment(home, **more), bufsize=0)
    running = Wrapped(process)
    try:
        yield running
    finally:
        if process.stdin is not None:
            running.close_input()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        for thread in running._threads:
            thread.join(PATIENCE_SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def modern(message_id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": {"_meta": MODERN, **params}}


def test_a_conversation_goes_to_the_server_with_the_fields_of_its_session(tmp_path: Path, remote: Remote) -> None:
    with relay_to(tmp_path, remote.port, "--header", "Authorization: Bearer t0ken") as relay:
        relay.hello()
        assert relay.text("read", {"path": "a"}) == "fine"
        assert remote.has_got("tools/call")

    first, last = remote.heads(b'"initialize"')[0], remote.heads(b"tools/call")[0]
    assert remote.methods == ["initialize", "notifications/initialized", "tools/call"]
    assert "mcp-session-id" not in first
    assert "mcp-protocol-version" not in first
    assert (last["mcp-session-id"], last["mcp-protocol-version"]) == ("s1", "2025-11-25")
    assert {head["authorization"] for head in (first, last)} == {"Bearer t0ken"}
    assert last["accept"] == "application/json, text/event-stream"
    assert remote.heads(b"DELETE")[0]["mcp-session-id"] == "s1"


def test_a_body_goes_and_comes_as_it_is_but_for_line_breaks(tmp_path: Path, remote: Remote) -> None:
    line = (
        b'{ "jsonrpc":"2.0", "id":"\\u00e9", "method":"x","params":{"n":123456789012345678901234567890,"s":"\\ud83d"}}'
    )
    remote.calls = lambda _: whole(b'{"jsonrpc":"2.0",\r\n "id":"\\u00e9",\n "result":{"f":1.0,"s":"\xe2\x80\xa8"}}\n')
    with relay_to(tmp_path, remote.port) as relay:
        relay.send(line + b"\n")

        assert relay.receive() == b'{"jsonrpc":"2.0",   "id":"\\u00e9",  "result":{"f":1.0,"s":"\xe2\x80\xa8"}}\n'
    assert [each.body for each in remote.asked] == [line]


def test_a_stream_gives_its_messages_and_neither_comments_nor_bare_ids(tmp_path: Path, remote: Remote) -> None:
    progress = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'

    def answer(asked: Asked) -> Answer:
        answered = result(asked.message["id"], "done")
        parts = [b": hello\n\n", b"id: 1\nretry: 10\ndata:\n\n", b"event: other\ndata: no\n\n", b"data: " + progress]
        return streamed([*parts, b"\n\n: keep\n", b"\n", b"event: message\r\nid: 2\r\ndata: " + answered + b"\r\n\r\n"])

    remote.calls = answer
    with relay_to(tmp_path, remote.port) as relay:
        relay.send(call(7))

        assert [relay.receive(), relay.receive()] == [progress + b"\n", result(7, "done") + b"\n"]


def test_a_call_does_not_wait_for_the_one_before(tmp_path: Path, remote: Remote) -> None:
    release = threading.Event()

    def answer(asked: Asked) -> Answer:
        if asked.message["id"] == 1:
            release.wait(PATIENCE_SECONDS)
        return whole(result(asked.message["id"], "fine"))

    remote.calls = answer
    with relay_to(tmp_path, remote.port) as relay:
        relay.send(call(1))
        relay.send(call(2))
        assert json.loads(relay.receive())["id"] == 2
        release.set()
        assert json.loads(relay.receive())["id"] == 1


def test_what_follows_a_handshake_waits_for_it(tmp_path: Path, remote: Remote) -> None:
    lines = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        call(1),
    ]
    with relay_to(tmp_path, remote.port) as relay:
        relay.send(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        assert [json.loads(relay.receive())["id"] for _ in range(2)] == [0, 1]

    assert remote.heads(b"tools/call")[0]["mcp-session-id"] == "s1"


def test_a_lost_session_begins_anew_and_what_was_refused_is_sent_again_once(tmp_path: Path, remote: Remote) -> None:
    alive = {"s1"}

    def answer(asked: Asked) -> Answer:
        known = any(b"session-id: " + name.encode() + b"\n" in asked.head.lower() for name in alive)
        return whole(result(asked.message["id"], "fine")) if known else LOST

    remote.calls = answer
    with relay_to(tmp_path, remote.port) as relay:
        relay.hello()
        assert relay.text("read") == "fine"
        alive.clear()
        alive.add("s2")
        for number in range(10, 20):
            relay.send(call(number))
        seen = sorted(json.loads(relay.receive())["id"] for _ in range(10))
        alive.clear()
        refused = relay.call("read")

    assert seen == list(range(10, 20))
    assert remote.sessions == 3
    assert remote.methods.count("notifications/initialized") == 3
    assert refused["error"]["message"] == "Session not found"


def test_a_server_that_was_started_again_is_found_again(tmp_path: Path, remote: Remote) -> None:
    with relay_to(tmp_path, remote.port) as relay:
        relay.hello()
        assert relay.text("read") == "fine"
        remote.stop()
        again = threading.Timer(0.3, remote.start)
        again.start()
        # Whether the broken connection has been noticed yet is a race; what only asks may be sent again in any case.
        assert "result" in relay.ask("resources/list")
        again.join()
        assert relay.text("read") == "fine"


def test_a_call_that_may_have_run_is_not_sent_again_unless_it_only_reads(tmp_path: Path, remote: Remote) -> None:
    broken: list[str] = []

    def answer(asked: Asked) -> Answer:
        message = asked.message
        if message["method"] == "tools/list":
            tools = [{"name": "look", "annotations": {"readOnlyHint": True}}, {"name": "write"}]
            return whole(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools}}).encode())
        name = message["params"]["name"]
        if name not in broken:
            broken.append(name)
            raise OSError
        return whole(result(message["id"], "fine"))

    remote.calls = answer
    with relay_to(tmp_path, remote.port) as relay:
        relay.hello()
        relay.ask("tools/list")
        said = relay.call("write")["error"]["message"]
        assert said == "The server closed the connection before it had answered; whether it has run is not known."
        assert relay.text("look") == "fine"


def test_a_stream_that_is_closed_early_is_gone_on_with(tmp_path: Path, remote: Remote) -> None:
    remote.calls = lambda _: streamed([b"id: 41\nretry: 20\ndata:\n\n"])
    places: list[bytes] = []

    def resumed(asked: Asked) -> Answer:
        place = asked.head.lower().partition(b"last-event-id: ")[2].partition(b"\n")[0]
        if not place:
            return NOT_OFFERED
        places.append(place)
        if place == b"41":
            return streamed([b"id: 42\ndata:\n\n"])
        return streamed([b"id: 43\ndata: " + result(5, "late") + b"\n\n"])

    remote.stream = resumed
    with relay_to(tmp_path, remote.port) as relay:
        relay.hello()
        relay.send(call(5))
        assert relay.receive() == result(5, "late") + b"\n"
    assert places == [b"41", b"42"]


def test_messages_that_nobody_asked_for_arrive_and_their_stream_is_opened_again(tmp_path: Path, remote: Remote) -> None:
    note = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    ids: list[bytes] = []
    stop = threading.Event()

    def stream(asked: Asked) -> Answer:
        ids.append(asked.head.lower().partition(b"last-event-id: ")[2].partition(b"\n")[0])
        if len(ids) > 2:
            stop.wait(PATIENCE_SECONDS)
        return streamed([b"retry: 10\nid: %d\ndata: " % len(ids) + note + b"\n\n"])

    remote.stream = stream
    with relay_to(tmp_path, remote.port) as relay:
        relay.hello()
        assert [relay.receive() for _ in range(2)] == [note + b"\n"] * 2
        assert eventually(lambda: len(ids) == 3)
        stop.set()
    assert ids[:3] == [b"", b"1", b"2"]


def test_requests_of_2026_have_fields_that_repeat_them(tmp_path: Path, remote: Remote) -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "in": {"type": "object", "properties": {"deep": {"type": "boolean", "x-mcp-header": "Deep"}}},
        },
    }

    def answer(asked: Asked) -> Answer:
        listed = {"tools": [{"name": "grüße", "inputSchema": schema}], "resultType": "complete"}
        return whole(json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], "result": listed}).encode())

    remote.calls = answer
    with relay_to(tmp_path, remote.port) as relay:
        relay.send(modern(1, "tools/list"))
        relay.receive()
        relay.send(modern(2, "tools/call", name="grüße", arguments={"region": " x", "in": {"deep": True}}))
        relay.receive()
        relay.send(modern(3, "resources/read", uri="note://all"))
        relay.receive()
        relay.send(modern(4, "tasks/get", taskId="t-1"))
        relay.receive()

    heads = remote.heads(b"POST")
    assert [{key: value for key, value in head.items() if key.startswith("mcp-")} for head in heads] == [
        {"mcp-protocol-version": MODERN_VERSION, "mcp-method": "tools/list"},
        {
            "mcp-protocol-version": MODERN_VERSION,
            "mcp-method": "tools/call",
            "mcp-name": "=?base64?Z3LDvMOfZQ==?=",
            "mcp-param-region": "=?base64?IHg=?=",
            "mcp-param-deep": "true",
        },
        {"mcp-protocol-version": MODERN_VERSION, "mcp-method": "resources/read", "mcp-name": "note://all"},
        {"mcp-protocol-version": MODERN_VERSION, "mcp-method": "tasks/get", "mcp-name": "t-1"},
    ]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_cancellation_reaches_the_server_in_the_way_of_its_revision(tmp_path: Path, remote: Remote, era: str) -> None:
    never = threading.Event()

    def hang(asked: Asked) -> Answer:
        if asked.message["id"] == "slow":
            never.wait(PATIENCE_SECONDS if era == "legacy" else 0.3)
            return streamed([b": nothing\n\n"] * 200)
        return whole(result(asked.message["id"], "fine"))

    remote.calls = hang
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}}
    with relay_to(tmp_path, remote.port) as relay:
        if era == "legacy":
            relay.hello()
        relay.send(call("slow") if era == "legacy" else modern("slow", "tools/call", name="x"))
        assert remote.has_got("tools/call")
        relay.send(cancelled)
        if era == "legacy":
            assert remote.has_got("notifications/cancelled")
        else:
            assert remote.left.wait(PATIENCE_SECONDS)
            assert "notifications/cancelled" not in remote.methods
        never.set()
        relay.send(call("next"))
        assert json.loads(relay.receive())["id"] == "next"


TOKEN_WANTED = (
    "The server answered 401 Unauthorized: it wants a token; give it in a file, --header-file FILE, as a line "
    'Authorization: Bearer TOKEN: {"error":"invalid_token"}.'
)
REFUSALS = {
    "plain": (
        whole(b"no such page", "text/plain", "404 Not Found"),
        "The server answered 404 Not Found: no such page.",
    ),
    "page": (whole(b"<html>", "text/html", "502 Bad Gateway"), "The server answered 502 Bad Gateway."),
    "token": (
        whole(b'{"error":"invalid_token"}', status="401 Unauthorized"),
        TOKEN_WANTED,
    ),
    "web": (
        whole(b"<html>", "text/html"),
        "The server answered with text/html (200); is this the address of an MCP server?",
    ),
    "unsupported": (
        whole(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"not this"}}', status="400 Bad Request"),
        "not this",
    ),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_is_an_error_for_the_request(tmp_path: Path, remote: Remote, kind: str) -> None:
    answer, told = REFUSALS[kind]
    remote.calls = lambda _: answer
    with relay_to(tmp_path, remote.port) as relay:
        relay.send(modern("probe", "server/discover"))
        body = json.loads(relay.receive())

    assert (body["id"], body["error"]["message"]) == ("probe", told)


def test_a_server_that_is_not_there_is_an_error_for_each_request(tmp_path: Path, remote: Remote) -> None:
    remote.stop()
    with relay_to(tmp_path, remote.port) as relay:
        body = relay.ask("initialize")

    assert body["error"]["message"] == f"Can't reach 127.0.0.1:{remote.port}: Connection refused."


def test_the_answers_that_are_on_their_way_at_the_end_still_come(tmp_path: Path, remote: Remote) -> None:
    release = threading.Event()

    def answer(asked: Asked) -> Answer:
        release.wait(PATIENCE_SECONDS)
        return whole(result(asked.message["id"], "fine"))

    remote.calls = answer
    with relay_to(tmp_path, remote.port) as relay:
        relay.send(call(1))
        assert remote.has_got("tools/call")
        relay.close_input()
        release.set()
        assert relay.receive() == result(1, "fine") + b"\n"
        assert relay.process.wait(PATIENCE_SECONDS) == 0


def test_a_file_as_standard_input_gets_all_its_answers(tmp_path: Path, remote: Remote) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"".join(json.dumps(call(number)).encode() + b"\n" for number in range(100)))
    with lines.open("rb") as file, relay_to(tmp_path, remote.port, stdin=file) as relay:
        seen = sorted(json.loads(relay.receive())["id"] for _ in range(100))
        assert relay.process.wait(PATIENCE_SECONDS) == 0

    assert seen == list(range(100))


def test_a_client_that_reads_late_gets_everything_over_one_socket(tmp_path: Path, remote: Remote) -> None:
    remote.calls = lambda asked: whole(result(asked.message["id"], "x" * 100_000))
    lines = b"".join(json.dumps(call(number)).encode() + b"\n" for number in range(100))
    argv = [sys.executable, "-m", "mcp_rearview", "wrap", "--url", f"http://127.0.0.1:{remote.port}/mcp"]
    ours, its = socket.socketpair()
    with ours, subprocess.Popen(argv, stdin=its, stdout=its, env=environment(tmp_path)) as process:
        its.close()
        sending = threading.Thread(target=ours.sendall, args=(lines,))
        sending.start()
        assert eventually(lambda: len(remote.asked) >= 20)
        with ours.makefile("rb") as stream:
            seen = sorted(json.loads(stream.readline())["id"] for _ in range(100))
        sending.join()
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(PATIENCE_SECONDS) == 0

    assert seen == list(range(100))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_session_even_if_a_call_hangs(tmp_path: Path, remote: Remote, number: int) -> None:
    never = threading.Event()

    def hang(_: Asked) -> Answer:
        never.wait(PATIENCE_SECONDS)
        return b""

    remote.calls = hang
    with relay_to(tmp_path, remote.port) as relay:
        relay.hello()
        relay.send(call(1))
        assert remote.has_got("tools/call")
        relay.process.send_signal(number)
        assert relay.process.wait(ENDING_SECONDS) == 0
        never.set()
    assert remote.heads(b"DELETE")[0]["mcp-session-id"] == "s1"


def test_secrets_of_a_file_go_to_the_server_and_nowhere_else(tmp_path: Path, remote: Remote) -> None:
    secrets = tmp_path / "token.txt"
    secrets.write_text("# for the server\nAuthorization: Bearer s3cr3t-v4lue\n\nX-Team: a b\n")
    remote.calls = lambda _: whole(b"no", "text/plain", "500 Internal Server Error")
    with relay_to(tmp_path, remote.port, "--header-file", str(secrets)) as relay:
        relay.hello()
        relay.call("read", {"path": "x"})
        relay.close_input()
        relay.process.wait(PATIENCE_SECONDS)

    head = remote.heads(b"tools/call")[0]
    assert (head["authorization"], head["x-team"]) == ("Bearer s3cr3t-v4lue", "a b")
    kept = [each.read_bytes() for each in (tmp_path / "state").rglob("*") if each.is_file()]
    assert kept
    assert all(b"s3cr3t" not in each for each in (*kept, bytes(relay.stderr)))


def test_a_call_that_just_failed_is_held_and_runs_when_it_is_repeated(tmp_path: Path, remote: Remote) -> None:
    wrong = "Invalid arguments: missing required field 'path'"
    remote.calls = lambda asked: whole(result(asked.message["id"], wrong, failed=True))
    with relay_to(tmp_path, remote.port) as relay:
        relay.hello()
        texts = [relay.text("read", {"file": "a"}) for _ in range(3)]

    assert ["Held by Rearview" in text for text in texts] == [False, True, False]
    assert remote.methods.count("tools/call") == 2


def test_switched_off_it_relays_without_a_word(tmp_path: Path, remote: Remote) -> None:
    wrong = "Invalid arguments: missing required field 'path'"
    remote.calls = lambda asked: whole(result(asked.message["id"], wrong, failed=True))
    with relay_to(tmp_path, remote.port, REARVIEW_DISABLE="1") as relay:
        relay.hello()
        assert [relay.text("read", {"file": "a"}) for _ in range(4)] == [wrong] * 4
    assert not (tmp_path / "state").exists()
