"""An agent's side of the end-to-end tests: the official SDK's client, `mcp-rearview wrap`, and a log behind it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

TEE = str(Path(__file__).parent / "tee.py")
PATIENCE_SECONDS = 30.0
SETTINGS = """
[warn]
control_share = 0
{warn}
[tasks]
idle_gap_s = {idle_gap_s}
[learner]
enabled = {learner}
idle_exit_s = 1
"""


class Answer(NamedTuple):
    """What the agent reads of a call, and whether the server ever saw the call."""

    failed: bool
    text: str
    reached: bool

    @property
    def held(self) -> bool:
        return self.failed and not self.reached and "Held by Rearview" in self.text


@dataclass(frozen=True, slots=True)
class Server:
    """A server's command, and how the client's configuration calls it."""

    name: str
    command: tuple[str, ...]


class Desk:
    """One state folder and one server; every session is a new process of the relay and of the server."""

    def __init__(
        self,
        folder: Path,
        server: Server,
        *,
        idle_gap_s: float = 300.0,
        learner: bool = False,
        warn: str = "",
    ) -> None:
        self.folder = folder
        self.server = server
        self.log = folder / "server"
        folder.mkdir(parents=True, exist_ok=True)
        self.config = folder / "config.toml"
        self.config.write_text(
            SETTINGS.format(warn=warn, idle_gap_s=idle_gap_s, learner=str(learner).lower()), encoding="utf-8"
        )
        # An empty folder to work in, so that nothing lies beside the server by accident.
        self.workplace = folder / "workplace"
        self.workplace.mkdir(exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.folder), "REARVIEW_STATE_DIR": str(self.folder / "state"), "LANG": "C.UTF-8"}

    @property
    def direct(self) -> tuple[str, ...]:
        """The server's command, with the log before it."""
        return (*self.logged("server"), *self.server.command)

    def logged(self, side: str) -> tuple[str, ...]:
        """What to put before a command, so that what passes there is written down.

        The folder is relative to the workplace: an absolute one in a command is one that its server may work in.
        """
        return (sys.executable, TEE, f"../{side}")

    @property
    def wrapped(self) -> tuple[str, ...]:
        """What stands in the client's configuration."""
        options = ("--name", self.server.name, "--config", str(self.config))
        return (sys.executable, "-m", "mcp_rearview", "wrap", *options, "--", *self.direct)

    @asynccontextmanager
    async def session(self, mode: str = "auto", command: Sequence[str] = (), **more: Any) -> AsyncIterator["Agent"]:
        """Open a session of the official client, which lists the tools first, as agents do."""
        argv = command or self.wrapped
        parameters = StdioServerParameters(
            command=argv[0], args=[*argv[1:]], env=self.environment, cwd=str(self.workplace)
        )
        with (self.folder / "stderr.log").open("a", encoding="utf-8") as errors:
            try:
                with anyio.fail_after(PATIENCE_SECONDS):
                    async with Client(stdio_client(parameters, errlog=errors), mode=mode, **more) as client:
                        await client.list_tools()
                        yield Agent(client, self.log)
            except BaseExceptionGroup as group:
                # The SDK's task groups wrap whatever a test raises while a session is open.
                raise _only(group) from None

    def run(self, *words: str) -> Any:
        """Run a command of ours and return what it prints, which is JSON."""
        argv = [sys.executable, "-m", "mcp_rearview", *words, "--config", str(self.config), "--json"]
        environment = {"PATH": os.environ["PATH"], **self.environment}
        done = subprocess.run(argv, env=environment, cwd=self.workplace, capture_output=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def lessons(self) -> list[dict[str, Any]]:
        return list(self.run("lessons", "list"))

    def said(self) -> str:
        """What the relay and the server wrote to standard error."""
        return (self.folder / "stderr.log").read_text(encoding="utf-8")


class Agent:
    """Makes calls, and looks whether they arrived."""

    def __init__(self, client: Client, log: Path) -> None:
        self.client = client
        self._log = log

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        before = len(calls_in(self._log))
        try:
            result = await self.client.call_tool(tool, dict(arguments))
        except MCPError as error:
            failed, text = True, str(error)
        else:
            failed = bool(result.is_error)
            text = "\n".join(block.text for block in result.content if block.type == "text")
        arrived = calls_in(self._log)[before:]
        reached = any(each["params"]["name"] == tool and each["params"]["arguments"] == arguments for each in arrived)
        return Answer(failed, text, reached)

    async def insist(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Make a call, and make it again when it was held: an agent that knows better."""
        answer = await self.call(tool, arguments)
        return await self.call(tool, arguments) if answer.held else answer


def calls_in(log: Path) -> list[dict[str, Any]]:
    """The tool calls among the lines that a server got."""
    messages = [json.loads(line) for line in (log / "to_server.jsonl").read_bytes().splitlines()]
    return [message for message in messages if message.get("method") == "tools/call"]


def _only(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


async def until(condition: Any, what: str) -> None:
    """Wait until something that other processes do has come true, with a deadline."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, f"in vain waited until {what}"
        await anyio.sleep(0.02)
