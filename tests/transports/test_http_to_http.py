import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from served import Asked, Served, Upstream, call, result, served, streamed, unchunked, whole, write_settings
from wrapped import PATIENCE_SECONDS, environment, eventually

WRONG = "Invalid arguments: missing required field 'path'"
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
KINDS = ("json", "sse")


@pytest.fixture(autouse=True)
def settings(tmp_path: Path) -> None:
    write_settings(tmp_path)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream(lambda asked: whole(result(asked.message["id"], "fine")))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def relay(tmp_path: Path, upstream: Upstream) -> Iterator[Served]:
    with served(tmp_path, f"http://127.0.0.1:{upstream.port}/its/mcp", "--name", "files") as running:
        yield running


def fails(kind: str) -> Callable[[Asked], bytes | list[bytes]]:
    def answer(asked: Asked) -> bytes | list[bytes]:
        body = result(asked.message["id"], WRONG, failed=True)
        return whole(body) if kind == "json" else streamed([b"event: message\ndata: " + body + b"\n\n"])

    return answer


def text_of(kind: str, body: bytes) -> str:
    if kind == "sse":
        body = unchunked(body).partition(b"data: ")[2]
    said: str = json.loads(body)["result"]["content"][0]["text"]
    return said


def test_the_body_and_the_fields_that_travel_go_through_as_they_are(relay: Served, upstream: Upstream) -> None:
    body = b'{ "jsonrpc":"2.0", "id":1e2,\n"method":"x","params":{"n":123456789012345678901234567890,"s":"\\ud83d"} }'
    fields = "Authorization: Bearer x", "Mcp-Method: x", "Accept-Encoding: gzip", "X-Odd: a,  b", "Last-Event-ID: 7"

    relay.request("POST", "/mcp/more?a=b%20c", body, *fields)

    asked = upstream.asked[0]
    lines = asked.head.decode().splitlines()
    assert asked.body == body
    assert lines[0] == "POST /its/mcp/more?a=b%20c HTTP/1.1"
    assert {"Authorization: Bearer x", "Mcp-Method: x", "X-Odd: a,  b", "Last-Event-ID: 7"} <= set(lines)
    assert f"host: 127.0.0.1:{upstream.port}" in lines
    assert not [line for line in lines if line.lower().startswith("connection") or "gzip" in line]


@pytest.mark.parametrize(
    "answer",
    [
        whole(b' {"odd" : 1.0,"n":123456789012345678901234567890}\n', status="418 Odd", more="X-Its: own\r\n"),
        whole(b"\x00\xff not json", kind="application/octet-stream"),
        whole(b"", kind="text/plain", status="202 Accepted"),
        b"HTTP/1.1 204 No Content\r\nMcp-Session-Id: s1\r\n\r\n",
        whole(b"{" + b"x" * 200_000 + b"}"),
    ],
)
def test_an_answer_comes_back_as_it_is(relay: Served, upstream: Upstream, answer: bytes) -> None:
    upstream.answer = lambda _: answer

    _, head, body = relay.request("POST", "/mcp", b'{"jsonrpc":"2.0","method":"x"}')

    theirs, _, their_body = answer.partition(b"\r\n\r\n")
    fields = {line.lower() for line in theirs.split(b"\r\n")[1:]}
    assert head.split(b"\r\n")[0] == theirs.split(b"\r\n")[0]
    assert fields <= {line.lower() for line in head.split(b"\r\n")}
    assert body == their_body


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_stream_comes_back_in_the_parts_it_was_sent_in(relay: Served, upstream: Upstream, size: int) -> None:
    events = (
        b": keep alive\n\nretry: 20\n\nid: 3\ndata:\n\nid: 4\nevent: message\ndata: "
        b'{"jsonrpc":"2.0","method":"notifications/progress"}\r\n\r\ndata: one\ndata: two\n\n'
    )
    upstream.answer = lambda _: streamed([events[at : at + size] for at in range(0, len(events), size)])

    assert unchunked(relay.request("GET")[2]) == events


@pytest.mark.parametrize("more", [{}, MODERN], ids=["legacy", "modern"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_just_failed_is_held_and_runs_when_it_is_repeated(
    relay: Served, upstream: Upstream, kind: str, more: dict[str, object]
) -> None:
    upstream.answer = fails(kind)
    made = call(1, file="a")
    made["params"].update(more)
    session = ("Mcp-Session-Id: s1",)
    relay.post(made, *session)

    status, head, body = relay.post({**made, "id": 2}, *session)
    held = json.loads(body)
    reached = len(upstream.asked)
    repeated = relay.post({**made, "id": 3}, *session)

    assert (status, b"application/json" in head, reached) == (200, True, 1)
    assert (held["id"], held["result"]["isError"], len(held["result"]["content"])) == (2, True, 1)
    assert ("resultType" in held["result"]) == bool(more)
    assert text_of(kind, repeated[2]).startswith(WRONG)
    assert len(upstream.asked) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_third_failure_of_its_like_gets_a_hint(relay: Served, upstream: Upstream, kind: str) -> None:
    upstream.answer = fails(kind)

    said = [text_of(kind, relay.post(call(n, file=f"a{n}"), "Mcp-Session-Id: s1")[2]) for n in range(3)]

    assert said[0] == WRONG
    assert said[2].startswith(WRONG)
    assert len(said[2]) > len(WRONG)


def test_sessions_know_nothing_of_each_other(relay: Served, upstream: Upstream) -> None:
    upstream.answer = fails("json")

    for session in ("a", "b", "c"):
        relay.post(call(1, file="x"), f"Mcp-Session-Id: {session}")

    assert len(upstream.asked) == 3


def test_what_is_no_name_of_ours_is_refused(relay: Served, upstream: Upstream) -> None:
    lines = "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 2\r\n{}\r\n{{}}"
    answers = [
        relay.raw(lines.format(host, origin).encode())
        for host, origin in (("evil.example", ""), ("localhost:1", "Origin: http://evil.example\r\n"), ("", ""))
    ]

    assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 403 Forbidden"] * 3
    assert b"--allow-host" in answers[0]
    assert upstream.asked == []


def test_a_name_that_is_allowed_is_none_of_those(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, f"http://127.0.0.1:{upstream.port}/mcp", "--allow-host", "tools.internal") as relay:
        head = b"POST /mcp HTTP/1.1\r\nHost: tools.internal:8080\r\nConnection: close\r\n"
        answer = relay.raw(head + b'Content-Length: 37\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"x"}')

    assert answer.startswith(b"HTTP/1.1 200 OK")


def test_a_server_that_is_not_there_is_named_and_the_next_call_finds_it_again(
    tmp_path: Path, upstream: Upstream
) -> None:
    with served(tmp_path, f"http://127.0.0.1:{upstream.port}/mcp") as relay:
        client = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=PATIENCE_SECONDS)

        def post(number: int) -> tuple[int, bytes]:
            client.request("POST", "/mcp", json.dumps(call(number)), {"Content-Type": "application/json"})
            answer = client.getresponse()
            return answer.status, answer.read()

        first = post(1)
        upstream.stop()
        gone = post(2)
        upstream.start()
        back = post(3)
        client.close()

    error = json.loads(gone[1])
    assert (first[0], gone[0], back[0]) == (200, 502, 200)
    assert (error["id"], str(upstream.port) in error["error"]["message"]) == (2, True)


def test_a_client_that_leaves_takes_its_request_along(relay: Served, upstream: Upstream) -> None:
    upstream.answer = lambda _: [streamed([b": here\n\n"])[0], *(b"5\r\n: ..\n\r\n" for _ in range(10**6))]
    client = relay.connect()
    client.sendall(f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n\r\n".encode())
    client.recv(10)

    client.close()

    assert upstream.left.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", b"400 Bad Request"),
        (b"POST /mcp HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413 "),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000, b"431 Request Header Fields Too Large"),
    ],
)
def test_what_is_no_request_is_answered_and_left(relay: Served, data: bytes, status: bytes) -> None:
    with relay.connect() as client:
        client.sendall(data)

        assert client.recv(65536).startswith(b"HTTP/1.1 " + status)


def test_requests_that_follow_each_other_at_once_are_answered_in_order(relay: Served, upstream: Upstream) -> None:
    upstream.answer = lambda asked: whole(asked.body)
    bodies = [json.dumps(call(number)).encode() for number in range(20)]
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nContent-Length: "
    sent = b"".join(f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies)

    with relay.connect() as client, client.makefile("rb") as stream:
        client.sendall(sent)
        answered = []
        for _ in bodies:
            answer = http.client.HTTPResponse(_Readable(stream))  # type: ignore[arg-type]
            answer.begin()
            answered.append(answer.read())

    assert answered == bodies


class _Readable:
    """A socket to read a response from that shares its stream with the next one."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def makefile(self, _mode: str) -> "_Unclosable":
        return _Unclosable(self._stream)


class _Unclosable:
    def __init__(self, stream: object) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return (lambda: None) if name == "close" else getattr(self._stream, name)


def test_it_tells_that_it_is_well_and_ends_when_it_is_told(relay: Served) -> None:
    assert relay.request("GET", "/healthz")[::2] == (200, b'{"status":"ok"}\n')
    assert relay.request("GET", "/readyz")[0] == 200

    relay.process.send_signal(signal.SIGTERM)

    assert relay.process.wait(PATIENCE_SECONDS) == 0


def test_a_taken_address_is_said_in_one_line(relay: Served, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mcp_rearview", "serve", "--upstream", "http://127.0.0.1:1/", "--listen"]
    done = subprocess.run(
        [*command, f"127.0.0.1:{relay.port}"], capture_output=True, text=True, env=environment(tmp_path), check=False
    )

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "--listen" in done.stderr


def test_calls_are_captured_with_a_client_of_their_own(relay: Served, tmp_path: Path) -> None:
    for session in ("a", "b"):
        relay.post(call(1, file=session), f"Mcp-Session-Id: {session}")
    relay.process.terminate()
    relay.process.wait(PATIENCE_SECONDS)

    lines = [
        json.loads(line)
        for file in (tmp_path / "state" / "journal").iterdir()
        for line in file.read_text().splitlines()
    ]
    calls = [line for line in lines if line["t"] == "call"]
    assert [(each["server"], each["grade"]) for each in calls] == [("files", "ok")] * 2
    assert len({each["client"] for each in calls}) == 2
    assert eventually(lambda: not _listens(relay.port), PATIENCE_SECONDS)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_without_sessions_a_client_is_still_known_by_what_it_sends_along(relay: Served, upstream: Upstream) -> None:
    upstream.answer = fails("json")

    for number, token in enumerate(("a", "a", "b")):
        relay.post(call(number, file="x"), f"Authorization: Bearer {token}")

    assert [asked.message["id"] for asked in upstream.asked] == [0, 2]


def test_ids_of_clients_that_are_the_same_do_not_cross(relay: Served, upstream: Upstream) -> None:
    both = threading.Barrier(2, timeout=PATIENCE_SECONDS)

    def answer(asked: Asked) -> bytes:
        both.wait()
        return whole(result(asked.message["id"], asked.message["params"]["arguments"]["file"]))

    upstream.answer = answer
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(lambda name: text_of("json", relay.post(call(1, file=name))[2]), ("one", "two")))

    assert said == ["one", "two"]


def test_a_client_of_http_1_0_gets_a_stream_without_chunks(relay: Served, upstream: Upstream) -> None:
    upstream.answer = lambda _: streamed([b": a\n\n", b"data: b\n\n"])

    head, _, body = relay.raw(b"GET /mcp HTTP/1.0\r\nHost: localhost\r\n\r\n").partition(b"\r\n\r\n")

    assert b"chunked" not in head
    assert body == b": a\n\ndata: b\n\n"


def test_two_lengths_of_one_body_are_refused(relay: Served, upstream: Upstream) -> None:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
    )

    answer = relay.raw(head.encode() + b"0\r\n\r\nPOST /evil HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert upstream.asked == []


def test_what_one_session_was_told_is_not_taken_as_told_to_another(relay: Served, upstream: Upstream) -> None:
    upstream.answer = fails("json")

    held = []
    for session in ("a", "b"):
        relay.post(call(1, file="x"), f"Mcp-Session-Id: {session}")
        held.append(relay.post(call(2, file="x"), f"Mcp-Session-Id: {session}")[2])

    assert [text_of("json", body).startswith(WRONG) for body in held] == [False, False]
    assert len(upstream.asked) == 2
