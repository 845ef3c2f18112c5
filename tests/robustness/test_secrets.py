"""A secret that passes a relay is found nowhere under the state folder, not even ten characters of it."""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from secret_kinds import Mint, Secret
from surroundings import MODULE, Surroundings, started

from wrapped import Wrapped, eventually

SERVER = """
import json, os, sys
handshake, tools, said = json.load(open(sys.argv[1]))
answers = iter(said)
for line in sys.stdin:
    body = json.loads(line)
    result = {"initialize": handshake, "tools/list": {"tools": tools}}.get(body.get("method"))
    if "id" not in body:
        continue
    if result is None:
        reply = body["params"]["arguments"].pop("$reply", {"content": []})
        if "stderr" in reply:
            sys.stderr.write(reply.pop("stderr") + "\\n"); sys.stderr.flush()
        if reply.pop("crash", False):
            os._exit(3)
        key = "error" if "code" in reply else "result"
    else:
        key, reply = "result", result
    print(json.dumps({"jsonrpc": "2.0", "id": body["id"], key: reply}), flush=True)
"""


def places(secret: str, luck: random.Random) -> Iterator[dict[str, Any]]:
    """Parameters of calls that carry the secret, each in another place. `$reply` is what the server shall answer."""
    yield {"name": "a", "arguments": {"note": f"use {secret} for it"}}
    yield {"name": "a", "arguments": {"deep": {"list": [1, {"text": secret}]}}}
    yield {"name": "a", "arguments": {"options": {secret: True}}}
    for before in (200 - len(secret) // 2, 200 - len(secret) + 1, 199, 2000 - len(secret) // 2, 2000 - 12):
        yield {"name": "a", "arguments": {"text": filler(before, luck) + secret + filler(3000, luck)}}
    yield {"name": "a", "arguments": {"text": filler(1990 - len(secret), luck) + " " + secret}}
    yield {"name": f"tool {secret}", "arguments": {"x": 1}}
    yield {"name": "a" * 190 + " " + secret, "arguments": {"x": 1}}
    trace = {"x-codex-turn-metadata": {"turn_id": secret}}
    yield {"name": "a", "arguments": {"x": 2}, "_meta": trace}
    yield {"name": "a", "arguments": {"x": 3}, "_meta": {"vscode.requestId": "r " * 55 + secret}}
    for reply in replies(secret, luck):
        yield {"name": "b", "arguments": {"x": luck.random(), "$reply": reply}}


def replies(secret: str, luck: random.Random) -> Iterator[dict[str, Any]]:
    yield {"content": [{"type": "text", "text": f"found {secret} there"}]}
    yield {"content": [{"type": "text", "text": f"Error: refused for {secret}"}], "isError": True}
    for edge in (2000, 4000):
        for before in (edge - len(secret) // 2, edge - 12, edge - len(secret) + 1):
            text = "Error: " + filler(before - 7, luck) + secret + filler(500, luck)
            yield {"content": [{"type": "text", "text": text}], "isError": True}
    yield {"content": [], "structuredContent": {"error": f"bad {secret}"}, "isError": True}
    yield {"code": -32602, "message": f"no value {secret}", "data": {"is": secret}}
    yield {"code": -32000, "message": "", "data": f"see {secret}"}
    yield {"stderr": f"debug {secret}", "content": []}


def filler(length: int, luck: random.Random) -> str:
    """Harmless words, ending in a blank, of exactly this length."""
    words = "the file was not read again by any of them because it is large and was moved on the day before "
    start = luck.randrange(len(words))
    return ((words[start:] + words * (length // len(words) + 2))[: max(0, length - 1)] + " ")[-max(0, length) :]


def play(relay: Wrapped, secret: str, luck: random.Random) -> None:
    relay.ask("initialize", {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": f"client {secret}", "version": f"1 {secret}"},
    })  # fmt: skip
    relay.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    relay.ask("tools/list")
    for params in places(secret, luck):
        relay.ask("tools/call", params)


def server_says(secret: str) -> list[Any]:
    schema = {
        "type": "object",
        "description": f"with {secret}",
        "properties": {"x": {"type": "string", "default": secret, "enum": [secret, "y"], "examples": [f"z {secret}"]}},
    }
    tools = [{"name": "a", "inputSchema": schema}, {"name": f"b {secret}", "description": secret, "inputSchema": {}}]
    return [{"serverInfo": {"name": f"s {secret}", "version": f"2 {secret}"}, "instructions": secret}, tools, []]


def found(folder: Path, secrets: list[Secret]) -> list[str]:
    """Where under the folder a piece of a secret stands: in the bytes as they are, and as JSON would write them."""
    hits = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        for secret in secrets:
            piece = next((p for p in secret.pieces() if p.encode() in data), None)
            if piece is not None:
                at = data.index(piece.encode())
                hits.append(f"{secret.kind} in {path.name}: {data[max(0, at - 60) : at + 20]!r}")
    return hits


SECRETS = Mint(20261201).all()


def test_there_are_more_than_forty_kinds() -> None:
    assert len({secret.kind for secret in SECRETS}) == len(SECRETS) > 40


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_no_piece_of_a_secret_is_kept(around: Surroundings, part: int) -> None:
    secrets = SECRETS[part::4]
    luck = random.Random(part)
    around.config.write_text("[learner]\nenabled = false\n[tasks]\nidle_gap_s = 1.0\n")
    script = around.folder / "server.py"
    script.write_text(SERVER)
    said = around.folder / "said.json"
    for secret in secrets:
        said.write_text(json.dumps(server_says(secret.text)))
        argv = [*MODULE, "wrap", "--name", "s", "--", sys.executable, str(script), str(said)]
        with started(argv, around.environment(PLANTED=secret.text)) as relay:
            play(relay, secret.text, luck)
            crash = {"stderr": f"fatal: {secret.text}", "crash": True}
            answer = relay.call("b", {"y": 1, "$reply": crash})
            assert secret.text.splitlines()[0] in answer["error"]["data"]["stderr"]
            relay.call("b", {"y": 2})
    calls = sum(path.read_bytes().count(b'"t":"call"') for path in around.state.glob("journal/*"))
    assert calls == len(secrets) * (len(list(places("s", luck))) + 2)
    assert found(around.state, secrets) == []

    assert around.command("learn", "--all").returncode == 0
    assert eventually(lambda: not list(around.state.glob("journal/*")))
    printed = [around.command(*words).stdout for words in (["calls", "--json"], ["lessons", "--json"], ["status"])]
    exported = around.state / "export.json"
    around.command("lessons", "export", str(exported))

    assert found(around.state, secrets) == []
    assert [secret.kind for secret in secrets if any(p in out for p in secret.pieces() for out in printed)] == []


COMMANDS = [
    ["docker", "run", "-i", "--rm", "-e", "API_KEY={}", "image"],
    ["npx", "-y", "mcp-remote@1", "https://u:{}@example.com/sse"],
    ["uvx", "--from", "git+https://user:{}@example.com/a/b", "tool"],
    ["npx", "https://example.com/mcp?token={}"],
    ["python3", "-c", "token='{}'"],
    ["env", "TOKEN={}", "node", "server.js"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_secret_in_the_servers_own_command_is_not_kept_as_its_name(around: Surroundings, words: list[str]) -> None:
    secret = Mint(5).prefixed("github", "ghp_", "abcdefghijkABCDEFGHIJK0123456789", 36)
    tools = around.folder / "bin"
    tools.mkdir()
    for name in {words[0].format(secret.text)}:
        (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
        (tools / name).chmod(0o755)
    command = [word.format(secret.text) for word in words]

    with around.relay(command, PATH=f"{tools}:/usr/bin:/bin") as relay:
        assert relay.text("echo", {"text": "x"}) == "x"
        assert eventually(lambda: len(list(around.state.glob("journal/*"))) == 1)

    assert found(around.state, [secret]) == []


FAKE = str(Path(__file__).parent.parent / "fixtures" / "stdio_server.py")
