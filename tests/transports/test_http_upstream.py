"""What is read of a refusal, and what becomes of a message on its way, without a server."""

from typing import Any

import pytest

from rearview.core.framing import one_line
from rearview.transports.http_client import Origin
from rearview.transports.http_upstream_message import Message, Tools, as_answer
from rearview.transports.http_upstream_refusal import is_lost_session, moved_to

HERE = Origin("http://127.0.0.1:8080/mcp")
REQUEST = Message(b'{"jsonrpc":"2.0","id":12345678901234567890123,"method":"x"}\n')


@pytest.mark.parametrize(
    ("status", "body", "lost"),
    [
        (404, b"", True),
        (400, b'{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}', True),
        (400, b'{"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}', True),
        (400, b'{"error":{"code":-32602,"message":"no such city"}}', False),
        (500, b"session not found", False),
    ],
)
def test_a_session_is_lost_when_the_server_says_so(status: int, body: bytes, lost: bool) -> None:
    assert is_lost_session(status, body) == lost


@pytest.mark.parametrize(
    ("status", "place", "target"),
    [
        (307, "/mcp/", b"/mcp/"),
        (308, "http://127.0.0.1:8080/v2?a=b", b"/v2?a=b"),
        (307, "https://127.0.0.1:8080/mcp/", b""),
        (307, "http://elsewhere.example/mcp", b""),
        (302, "/mcp/", b""),
        (307, "", b""),
    ],
)
def test_a_server_that_moved_is_followed_only_to_itself(status: int, place: str, target: bytes) -> None:
    assert moved_to(HERE, status, [(b"Location", place.encode())]) == target


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b'{"id":"server-error","error":{"code":1}}', b'{"id":12345678901234567890123,"error":{"code":1}}\n'),
        (b' {"error":{"code":1}}', b' {"id":12345678901234567890123,"error":{"code":1}}\n'),
        (b'{"id":12345678901234567890123,\n"error":{"code":1}}', None),
        (b'{"error":"invalid_token"}', "no answer"),
        (b"<html>", "no answer"),
    ],
)
def test_a_refusal_gets_the_id_of_the_request(body: bytes, answer: bytes | str | None) -> None:
    expected = None if answer == "no answer" else answer or one_line(body)

    assert as_answer(body, REQUEST) == expected


@pytest.mark.parametrize(
    ("value", "told"),
    [("a b", b"a b"), ("", b""), ("é", b"=?base64?w6k=?="), ("x\n", b"=?base64?eAo=?="), ("=?base64?x?=", None)],
)
def test_odd_values_are_told_in_base64(value: str, told: bytes | None) -> None:
    message = Message(b"{}")
    message.method, message.modern, message.content = "prompts/get", "2026-07-28", {"params": {"name": value}}

    fields = dict(Tools().fields(message))

    assert fields[b"mcp-name"] == (told if told is not None else b"=?base64?PT9iYXNlNjQ/eD89?=")


@pytest.mark.parametrize(
    ("line", "requests"),
    [
        (b'{"id":1,"method":"a"}', [1]),
        (b'{"id":"1","method":"a"}', ["1"]),
        (b'{"id":1,"result":{}}', []),
        (b'{"method":"a"}', []),
        (b'[{"id":1,"method":"a"},{"id":2,"method":"b"},{"method":"c"}]', [1, 2]),
        (b'{"broken":', []),
        (b'[1,{"id":', []),
    ],
)
def test_any_line_is_read_for_what_it_asks(line: bytes, requests: list[Any]) -> None:
    assert list(Message(line + b"\n").requests.values()) == requests
