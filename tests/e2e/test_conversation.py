"""The official client and server have the same conversation with us in between as without."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from e2e.agent import Desk, Server

SERVER = Server("everything", (sys.executable, str(Path(__file__).parent.parent / "fixtures" / "sdk_server.py")))
SEEN = {"progress", "log", "sampling", "roots", "elicitation", "notification"}
"""What comes from the server without having been asked for."""

Transcript = list[tuple[str, Any]]

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]


class Talker:
    """A client that uses what the protocol has, and writes down what it sees, in order."""

    def __init__(self) -> None:
        self.transcript: Transcript = []
        self.changed = anyio.Event()
        self.options: dict[str, Any] = {
            "sampling_callback": self._think,
            "list_roots_callback": self._roots,
            "elicitation_callback": self._ask,
            "logging_callback": self._log,
            "message_handler": self._heard,
            "log_level": "debug",
        }

    def note(self, what: str, seen: Any) -> None:
        body = seen.model_dump(mode="json", by_alias=True, exclude_unset=True) if hasattr(seen, "model_dump") else seen
        self.transcript.append((what, body))

    async def ask(self, what: str, question: Callable[[], Awaitable[Any]]) -> None:
        try:
            self.note(what, await question())
        except MCPError as error:
            self.note(what, error.error)

    async def _think(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.note("sampling", params)
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(type="text", text="well"), model="m", stop_reason="endTurn"
        )

    async def _roots(self, _: Any) -> types.ListRootsResult:
        self.note("roots", None)
        return types.ListRootsResult(roots=[types.Root(uri="file:///a"), types.Root(uri="file:///b", name="B")])

    async def _ask(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.note("elicitation", params)
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.note("log", params)

    async def _heard(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        if not isinstance(message, (types.LoggingMessageNotification, types.ProgressNotification)):
            # The rest is the id of a subscription, which the client counts up for all of its sessions.
            self.note("notification", message.method)
        if isinstance(message, types.ToolListChangedNotification):
            self.changed.set()

    async def progress(self, now: float, total: float | None, message: str | None) -> None:
        self.note("progress", (now, total, message))


async def talk(talker: Talker, client: Client) -> None:
    """Say everything once."""
    ask = talker.ask
    talker.note("server", client.server_info)
    talker.note("capabilities", client.server_capabilities)
    talker.note("instructions", client.instructions)
    await ask("tools", client.list_tools)
    await ask("ok", lambda: client.call_tool("due", {"date": "2026-02-28", "days": 1}))
    await ask("failure", lambda: client.call_tool("due", {"date": "28.02.2026"}))
    await ask("wrong arguments", lambda: client.call_tool("due", {"day": "2026-02-28"}))
    await ask("error", lambda: client.call_tool("refuse", {"code": -32050}))
    await ask("unknown tool", lambda: client.call_tool("nothing", {}))
    await ask("progress", lambda: client.call_tool("count", {"to": 3}, progress_callback=talker.progress))
    await ask("from the user", lambda: client.call_tool("greet", {}))
    await ask("from the model", lambda: client.call_tool("say", {}))
    await ask("roots", lambda: client.call_tool("places", {}))
    await cancelled(talker, client)
    await ask("resources", client.list_resources)
    await ask("templates", client.list_resource_templates)
    for uri in ("note://all", "note://a%20b", "blob://all", "nothing://here"):
        await ask("resource", lambda uri=uri: client.read_resource(uri))
    await ask("prompts", client.list_prompts)
    await ask("prompt", lambda: client.get_prompt("poem", {"about": "rain \u2028 and 😀"}))
    await ask("bad prompt", lambda: client.get_prompt("poem", {}))


async def cancelled(talker: Talker, client: Client) -> None:
    """Cancel a call when the server is at work on it, and ask whether the server knows."""
    with anyio.CancelScope() as scope:

        async def stop(now: float, total: float | None, message: str | None) -> None:
            await talker.progress(now, total, message)
            scope.cancel()

        await client.call_tool("wait", {"name": "long"}, progress_callback=stop)
    await talker.ask("cancelled", lambda: client.call_tool("what_was_cancelled", {}))


async def legacy(talker: Talker, client: Client) -> None:
    await talker.ask("ping", client.send_ping)
    await talker.ask("level", lambda: client.set_logging_level("debug"))
    await talk(talker, client)
    await talker.ask("learn", lambda: client.call_tool("learn", {"word": "new"}))
    await talker.changed.wait()
    await talker.ask("tools", client.list_tools)


async def modern(talker: Talker, client: Client) -> None:
    await talk(talker, client)
    async with client.listen(tools_list_changed=True) as changes:
        await talker.ask("learn", lambda: client.call_tool("learn", {"word": "new"}))
        talker.note("change", type(await anext(aiter(changes))).__name__)
    await talker.ask("tools", client.list_tools)


async def conversation(desk: Desk, mode: str, command: tuple[str, ...]) -> Transcript:
    talker = Talker()
    # What passes on the client's side of the relay is written down, too.
    outside = (*desk.logged("client"), *command)
    async with desk.session(mode, outside, **talker.options) as agent:
        await (legacy if mode == "legacy" else modern)(talker, agent.client)
    return talker.transcript


def bytes_of(desk: Desk, side: str) -> tuple[bytes, bytes]:
    folder = desk.folder / side
    return (folder / "to_server.jsonl").read_bytes(), (folder / "to_client.jsonl").read_bytes()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_client_and_server_see_the_same_conversation_with_and_without_us(mode: str, tmp_path: Path) -> None:
    without = Desk(tmp_path / "without", SERVER)
    within = Desk(tmp_path / "within", SERVER)

    expected = await conversation(without, mode, without.direct)
    transcript = await conversation(within, mode, within.wrapped)

    assert {what for what, _ in transcript} >= SEEN
    assert transcript == expected
    assert bytes_of(within, "client") == bytes_of(within, "server")
