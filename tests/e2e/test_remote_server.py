"""The official client on our standard input and output sees a server on HTTP as if it spoke HTTP itself."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client

from e2e.agent import PATIENCE_SECONDS, Desk, Server
from e2e.test_conversation import SEEN, Talker, Transcript, legacy, modern
from wrapped import eventually

SERVER = str(Path(__file__).parent.parent / "fixtures" / "sdk_http_server.py")
UNORDERED = {"progress", "log", "notification"}
"""What comes on a stream of its own has no place among the answers."""

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(port: int) -> Iterator[str]:
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, SERVER, str(port)], stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        assert eventually(lambda: answers(port))
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def to(desk: Desk, url: str) -> tuple[str, ...]:
    options = ("--name", desk.server.name, "--config", str(desk.config), "--url", url)
    return (sys.executable, "-m", "mcp_rearview", "wrap", *options)


async def said(mode: str, client: Client, talker: Talker) -> Transcript:
    await (legacy if mode == "legacy" else modern)(talker, client)
    return sorted(talker.transcript, key=lambda noted: noted[0] in UNORDERED)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_client_and_server_see_the_same_conversation_with_and_without_us(mode: str, tmp_path: Path) -> None:
    talker, other = Talker(), Talker()
    with running(free_port()) as url, anyio.fail_after(PATIENCE_SECONDS):
        async with Client(url, mode=mode, **talker.options) as client:
            await client.list_tools()
            expected = await said(mode, client, talker)
    desk = Desk(tmp_path, Server("everything", ()))
    with running(free_port()) as url:
        async with desk.session(mode, to(desk, url), **other.options) as agent:
            transcript = await said(mode, agent.client, other)

    assert {what for what, _ in transcript} >= SEEN
    assert transcript == expected


async def test_a_stream_that_the_server_closes_early_is_gone_on_with(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Server("everything", ()))
    with running(free_port()) as url:
        async with desk.session("legacy", to(desk, url)) as agent:
            assert (await agent.client.call_tool("hang_up", {})).structured_content == {"result": "gone on with"}


async def test_a_server_that_was_started_again_gets_the_handshake_again(tmp_path: Path) -> None:
    desk, port, made = Desk(tmp_path, Server("everything", ())), free_port(), {"date": "2026-02-28"}
    with running(port) as url:
        context = desk.session("legacy", to(desk, url))
        agent = await context.__aenter__()
        assert not (await agent.client.call_tool("due", made)).is_error
    with running(port):
        assert not (await agent.client.call_tool("due", made)).is_error
        await context.__aexit__(None, None, None)
