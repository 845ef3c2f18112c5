import json
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from e2e.test_conversation import SEEN, SERVER, Talker, legacy, modern
from served import Served, call, listening, write_settings
from wrapped import PATIENCE_SECONDS, eventually, is_alive

CHATTY = str(Path(__file__).parent.parent / "fixtures" / "chatty_server.py")
TAKES = ("Accept: application/json, text/event-stream",)
VERSION = "2026-07-28"
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture(autouse=True)
def settings(tmp_path: Path) -> None:
    write_settings(tmp_path)


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Served]:
    with listening(tmp_path, "--max-clients", "3", "--", sys.executable, CHATTY) as running:
        yield running


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


OPENED: "list[Opened]" = []


@pytest.fixture(autouse=True)
def _streams_are_closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


@dataclass
class Opened:
    """An answer that may go on: its head, and the stream behind it."""

    status: int
    head: str
    stream: BinaryIO
    connection: socket.socket

    def event(self) -> dict[str, str]:
        """Return the fields of the next event; empty at the end."""
        found: dict[str, str] = {}
        for line in iter(self.stream.readline, b""):
            name, colon, value = line.decode().rstrip("\r\n").partition(": ")
            if colon:
                found[name] = value
            elif found and not line.strip():
                return found
        return found

    def message(self) -> Any:
        return json.loads(self.event()["data"])

    def close(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.stream.close()
        self.connection.close()


@dataclass
class Talking:
    """A client that sees raw answers."""

    relay: Served
    fields: tuple[str, ...] = TAKES

    def ask(self, message: Any, *fields: str) -> tuple[int, Any]:
        status, _, body = self.relay.post(message, *self.fields, *fields)
        return status, json.loads(body) if body else None

    def text(self, message: Any, *fields: str) -> str:
        said: str = self.ask(message, *fields)[1]["result"]["content"][0]["text"]
        return said

    def open(self, method: str, message: Any = None, *fields: str) -> Opened:
        """Begin a request whose answer is a stream."""
        body = b"" if message is None else json.dumps(message).encode()
        connection = self.relay.connect()
        about = ("Content-Type: application/json", f"Content-Length: {len(body)}")
        lines = [f"{method} /mcp HTTP/1.0", "Host: localhost", *about, *self.fields, *fields]
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        stream = connection.makefile("rb")
        head = b"".join(iter(stream.readline, b"\r\n")).decode()
        OPENED.append(Opened(int(head.split(" ", 2)[1]), head.lower(), stream, connection))
        return OPENED[-1]


def session(relay: Served) -> Talking:
    """Introduce a client of the older generation."""
    _, head, _ = relay.post(HELLO, *TAKES)
    name = next(line for line in head.decode().splitlines() if line.lower().startswith("mcp-session-id"))
    client = Talking(relay, (*TAKES, name))
    assert client.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})[0] == 202
    return client


def request(message_id: Any, method: str, name: str = "", **params: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a request of the newer generation and the fields that repeat it."""
    keys = {"protocolVersion": VERSION, "clientCapabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in keys.items()} | params.pop("_meta", {})
    body = {"jsonrpc": "2.0", "id": message_id, "method": method, "params": {**params, "_meta": meta}}
    fields = (f"MCP-Protocol-Version: {VERSION}", f"Mcp-Method: {method}")
    if name:
        body["params"] = {"name": name, **body["params"]}
        fields = (*fields, f"Mcp-Name: {name}")
    return body, fields


def tool(message_id: Any, name: str, text: str = "", **params: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    return request(message_id, "tools/call", name, arguments={"text": text}, **params)


def _flat(made: tuple[dict[str, Any], tuple[str, ...]]) -> tuple[Any, ...]:
    return made[0], *made[1]


# the older generation


def test_each_client_has_a_server_of_its_own_and_gets_its_answers_as_json(relay: Served) -> None:
    one, other = session(relay), session(relay)

    pids = [client.text(call(1, "pid")) for client in (one, other)]

    assert pids[0] != pids[1]
    assert one.text(call("ü", "echo", text="x\u2028")) == "x\u2028"


def test_a_body_becomes_one_line_and_is_otherwise_the_same_bytes(relay: Served) -> None:
    client = session(relay)
    body = b'{ "jsonrpc":"2.0",\r\n "id":1.0, "method":"tools/call",\n"params":{"name":"raw", "n":1e2,"s":"\\ud83d"}}'

    _, _, answer = relay.request("POST", "/mcp", body, *client.fields)

    assert b'"id":1.0' in answer
    said = json.loads(answer)["result"]["content"][0]["text"]
    assert said == body.decode().replace("\r", " ").replace("\n", " ")


def test_progress_comes_on_the_stream_of_its_call_and_its_events_have_ids(relay: Served) -> None:
    client = session(relay)
    made = call(1, "progress", text="done")
    made["params"]["_meta"] = {"progressToken": "p"}

    opened = client.open("POST", made)
    events = [opened.event() for _ in range(3)]

    assert (opened.status, "text/event-stream" in opened.head) == (200, True)
    # From 2025-11-25 on a client knows what an event without data is.
    assert ("retry" in events[0], events[0]["data"]) == (True, "")
    assert json.loads(events[1]["data"])["params"] == {"progressToken": "p", "progress": 1}
    assert json.loads(events[2]["data"])["result"]["content"][0]["text"] == "done"
    assert len({event["id"] for event in events}) == 3
    assert opened.event() == {}


def test_a_question_of_the_server_reaches_the_client_and_its_answer_the_server(relay: Served) -> None:
    client = session(relay)
    opened = client.open("POST", call(1, "ask"))
    opened.event()

    question = opened.message()
    status, _ = client.ask({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})

    assert (question["method"], status) == ("roots/list", 202)
    assert opened.message()["result"]["content"][0]["text"] == '{"roots": []}'


def test_what_nobody_asked_for_waits_for_the_one_stream_that_a_client_opens(relay: Served) -> None:
    client = session(relay)
    client.text(call(1, "later", text="first"))
    client.text(call(2, "echo"))

    listening = client.open("GET")
    listening.event()
    first = listening.message()
    second = client.open("GET").status
    client.text(call(3, "later", text="next"))

    assert (first["params"], second) == ({"said": "first"}, 409)
    assert listening.message()["params"] == {"said": "next"}


def test_a_client_that_lost_a_stream_takes_it_up_after_the_last_event_that_it_saw(relay: Served) -> None:
    client = session(relay)
    made = call(1, "hold")
    made["params"]["_meta"] = {"progressToken": 1}
    lost = client.open("POST", made)
    primed = lost.event()["id"]
    lost.event()
    lost.close()

    again = client.open("GET", None, f"Last-Event-ID: {primed}")
    missed = again.message()
    client.text(call(2, "release"))

    assert missed["method"] == "notifications/progress"
    assert again.message()["result"]["content"][0]["text"] == "released"
    assert again.event() == {}


@pytest.mark.parametrize(
    ("method", "fields", "status"),
    [
        ("POST", TAKES, 400),
        ("GET", TAKES, 400),
        ("DELETE", (), 400),
        ("POST", (*TAKES, "Mcp-Session-Id: other"), 404),
        ("POST", ("Accept: application/json", "Mcp-Session-Id: {}"), 406),
        ("GET", ("Accept: application/json", "Mcp-Session-Id: {}"), 406),
        ("POST", (*TAKES, "Mcp-Session-Id: {}", "MCP-Protocol-Version: 1999-01-01"), 400),
        ("PUT", TAKES, 405),
    ],
)
def test_what_does_not_fit_the_session_is_refused(
    relay: Served, method: str, fields: tuple[str, ...], status: int
) -> None:
    name = session(relay).fields[1].partition(": ")[2]
    body = json.dumps(call(1, "echo")).encode() if method == "POST" else b""

    found = relay.request(method, "/mcp", body, *(each.format(name) for each in fields))

    assert found[0] == status
    assert "error" in json.loads(found[2])


def test_other_bodies_than_json_other_paths_and_other_hosts_are_refused(relay: Served) -> None:
    plain = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    accept = TAKES[0].encode()

    assert b" 415 " in relay.raw(plain + accept + b"\r\nContent-Length: 2\r\n\r\n{}")[:20]
    assert relay.request("POST", "/mcp", b"no json", *TAKES)[0] == 400
    assert relay.request("POST", "/other", b"{}", *TAKES)[0] == 404
    assert relay.request("POST", "/mcp", b"{}", *TAKES, "Origin: http://evil.example")[0] == 403


def test_a_server_that_dies_is_told_of_at_once_and_the_session_is_over(relay: Served) -> None:
    client = session(relay)

    status, answer = client.ask(call(7, "crash"))

    assert (status, answer["id"], answer["error"]["data"]) == (200, 7, {"exitCode": 3, "stderr": "about to fall"})
    assert client.ask(call(8, "echo"))[0] == 404
    assert session(relay).text(call(1, "echo", text="anew")) == "anew"


def test_a_deleted_session_leaves_neither_processes_nor_descriptors(relay: Served) -> None:
    def descriptors() -> int:
        return len(list(Path(f"/proc/{relay.process.pid}/fd").iterdir()))

    session(relay)
    before = descriptors()
    client = session(relay)
    pid = int(client.text(call(1, "pid")))

    deleted = relay.request("DELETE", "/mcp", b"", *client.fields)[0]

    assert deleted == 200
    assert eventually(lambda: not is_alive(pid) and descriptors() <= before)
    assert client.ask(call(2, "echo"))[0] == 404


def test_one_client_too_many_is_told_to_come_back(relay: Served) -> None:
    clients = [session(relay) for _ in range(3)]

    status, answer = Talking(relay).ask(HELLO)
    relay.request("DELETE", "/mcp", b"", *clients[0].fields)

    assert (status, answer["id"]) == (503, 0)
    assert "try again" in answer["error"]["message"]
    assert eventually(lambda: Talking(relay).ask(HELLO)[0] == 200)


def test_a_signal_ends_the_relay_and_all_servers_though_a_client_listens(tmp_path: Path) -> None:
    with listening(tmp_path, "--", sys.executable, CHATTY) as relay:
        client = session(relay)
        pid = int(client.text(call(1, "pid")))
        shared = int(Talking(relay).text(*_flat(tool(1, "pid"))))
        client.open("GET").event()

        relay.process.terminate()

        assert relay.process.wait(PATIENCE_SECONDS) == 0
    assert not is_alive(pid)
    assert not is_alive(shared)


def test_a_command_that_can_not_be_started_is_named(tmp_path: Path) -> None:
    with listening(tmp_path, "--", "no-such-command-here") as relay:
        status, answer = Talking(relay).ask(HELLO)
        ready = relay.request("GET", "/readyz")[0]

    assert (status, ready) == (502, 503)
    assert "command not found: no-such-command-here" in answer["error"]["message"]


# the newer generation


def test_clients_share_a_server_and_get_their_own_ids_back(relay: Served) -> None:
    client = Talking(relay)
    pids = {client.text(*_flat(tool(message_id, "pid"))) for message_id in (1, 1, "1")}
    ids = [client.ask(*_flat(tool(message_id, "echo")))[1]["id"] for message_id in (1, "1", 2**53, "ü")]

    seen = json.loads(client.text(*_flat(tool(5, "raw", "\u2028 x", _meta={"progressToken": "mine"}))))

    assert (len(pids), ids) == (1, [1, "1", 2**53, "ü"])
    assert seen["params"]["arguments"] == {"text": "\u2028 x"}
    assert seen["id"] == seen["params"]["_meta"]["progressToken"] != 5


def test_two_calls_with_the_same_id_are_told_apart(relay: Served) -> None:
    client = Talking(relay)
    made, fields = tool(1, "hold", _meta={"progressToken": "a"})
    held = client.open("POST", made, *fields)
    progress = held.message()

    other = client.text(*_flat(tool(1, "release", "mine")))

    answer = held.message()
    assert (other, progress["params"]["progressToken"]) == ("mine", "a")
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (1, "released")


def test_a_client_that_leaves_has_cancelled(relay: Served) -> None:
    client = Talking(relay)
    made, fields = tool(1, "hold", _meta={"progressToken": "a"})
    held = client.open("POST", made, *fields)
    held.message()

    held.close()

    assert eventually(lambda: client.text(*_flat(tool(2, "cancelled"))) == "1")


def test_a_subscription_is_told_of_changes_under_its_own_id(relay: Served) -> None:
    client = Talking(relay)
    made, fields = request("mine", "subscriptions/listen", notifications={"toolsListChanged": True})
    listening = client.open("POST", made, *fields)
    acknowledged = listening.message()

    client.text(*_flat(tool(1, "change")))
    changed = listening.message()

    meta = {"io.modelcontextprotocol/subscriptionId": "mine"}
    assert (acknowledged["params"]["_meta"], changed["params"]["_meta"]) == (meta, meta)
    assert changed["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Mcp-Method: tools/call", "Mcp-Method: tools/list"),
        ("Mcp-Name: echo", "Mcp-Name: other"),
        ("Mcp-Name: echo", "Mcp-Name: =?base64?ZWNo?="),
        ("Mcp-Name: echo", "X: y"),
        (f"MCP-Protocol-Version: {VERSION}", "MCP-Protocol-Version: 2026-01-01"),
    ],
)
def test_a_head_that_does_not_say_what_the_body_says_is_refused(relay: Served, wrong: str, right: str) -> None:
    made, fields = tool(1, "echo")

    status, answer = Talking(relay).ask(made, *(right if each == wrong else each for each in fields))

    assert (status, answer["id"], answer["error"]["code"]) == (400, 1, -32020)


def test_arguments_that_the_schema_wants_repeated_have_to_be(relay: Served) -> None:
    client = Talking(relay)
    client.ask(*_flat(request(1, "tools/list")))
    made, fields = tool(2, "echo", "Grüße")

    missing = client.ask(made, *fields)
    given = client.ask(made, *fields, "Mcp-Param-Text: =?base64?R3LDvMOfZQ==?=")

    assert (missing[0], missing[1]["error"]["code"], given[0]) == (400, -32020, 200)


def test_the_status_says_what_the_error_is(relay: Served) -> None:
    client = Talking(relay)
    version = f"MCP-Protocol-Version: {VERSION}"

    unknown = client.ask(*_flat(request(1, "no/such")))
    bare = client.ask(call(2, "echo"), version, "Mcp-Method: tools/call", "Mcp-Name: echo")
    started = client.ask(*_flat(request(3, "initialize")))
    batch = client.ask([call(4, "echo")], version)

    assert [(status, answer["error"]["code"]) for status, answer in (unknown, bare, started, batch)] == [
        (404, -32601),
        (400, -32602),
        (404, -32601),
        (400, -32600),
    ]
    assert client.ask({"jsonrpc": "2.0", "method": "notifications/x"}, version) == (202, None)
    assert [relay.request(method, "/mcp", b"", *TAKES, version)[0] for method in ("GET", "DELETE")] == [405, 405]


def test_a_shared_server_that_dies_is_told_of_and_started_again(relay: Served) -> None:
    client = Talking(relay)

    _, answer = client.ask(*_flat(tool("x", "crash")))

    assert (answer["id"], answer["error"]["data"]["exitCode"]) == ("x", 3)
    assert client.text(*_flat(tool(2, "echo", "again"))) == "again"


# both


@pytest.mark.parametrize("generation", ["legacy", "modern"])
def test_a_call_that_just_failed_is_held_and_runs_when_it_is_repeated(relay: Served, generation: str) -> None:
    client = session(relay) if generation == "legacy" else Talking(relay)

    def failing(message_id: Any) -> Any:
        arguments = {"file": "a"}
        if generation == "legacy":
            return client.ask(call(message_id, "fail", **arguments))[1]
        return client.ask(*_flat(request(message_id, "tools/call", "fail", arguments=arguments)))[1]

    first, held, repeated = failing(1), failing("2"), failing(3)

    words = [each["result"]["content"][0]["text"] for each in (first, held, repeated)]
    assert [each["id"] for each in (first, held, repeated)] == [1, "2", 3]
    assert words[0].startswith("Invalid arguments")
    assert not words[1].startswith("Invalid arguments")
    assert words[2].startswith("Invalid arguments")
    assert ("resultType" in held["result"]) == (generation == "modern")


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_sees_over_http_what_it_sees_over_pipes(mode: str, tmp_path: Path) -> None:
    transcripts = []
    with listening(tmp_path, "--", *SERVER.command) as relay:
        direct = stdio_client(StdioServerParameters(command=SERVER.command[0], args=[*SERVER.command[1:]]))
        for server in (direct, f"http://127.0.0.1:{relay.port}/mcp"):
            talker = Talker()
            with anyio.fail_after(PATIENCE_SECONDS):
                async with Client(server, mode=mode, **talker.options) as client:
                    await (legacy if mode == "legacy" else modern)(talker, client)
            transcripts.append(talker.transcript)

    expected, transcript = transcripts
    assert {what for what, _ in transcript} >= SEEN
    assert transcript == expected


def test_a_client_that_is_slow_to_take_a_large_answer_keeps_nobody_waiting(relay: Served) -> None:
    client = session(relay)
    made = json.dumps(call(1, "echo", text="x" * 9_000_000)).encode()
    lines = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json", *client.fields]

    with relay.connect() as slow:
        slow.sendall("\r\n".join([*lines, f"Content-Length: {len(made)}", "", ""]).encode() + made)
        slow.recv(1)
        said = client.text(call(2, "echo", text="next"))

    assert said == "next"
