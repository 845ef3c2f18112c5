"""A scripted MCP client on the standard input and output of one child process."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self, cast

from rearview.errors import PeerError

REPLY_SECONDS = 10.0
LEAVE_SECONDS = 5.0
READ_BYTES = 65536


class Answer(NamedTuple):
    """What the agent sees of a finished call."""

    failed: bool
    text: str


class Client:
    """One session: starts `command`, shakes hands, calls tools, and leaves by closing the pipe.

    Every wait has a deadline.

    Raises:
        PeerError: no answer came in time, or the child went away.
    """

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        folder: Path | None = None,
        stderr: IO[bytes] | None = None,
    ) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=stderr, env=environ, cwd=folder, bufsize=0
        )
        # Both are pipes, as asked for; Popen's types can't know.
        self._stdin, self._stdout = cast("IO[bytes]", self._child.stdin), cast("IO[bytes]", self._child.stdout)
        self._unread = b""
        self._last_id = 0

    def __enter__(self) -> Self:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "rearview-demo", "version": "1"},
        }
        try:
            self._request("initialize", hello)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            self._request("tools/list", {})
        except PeerError:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool and wait for what the agent would read."""
        reply = self._request("tools/call", {"name": tool, "arguments": arguments})
        if "error" in reply:
            return Answer(failed=True, text=str(reply["error"].get("message")))
        result = reply["result"]
        text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        return Answer(bool(result.get("isError")), text)

    def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        deadline = time.monotonic() + REPLY_SECONDS
        while True:
            message = json.loads(self._line(deadline))
            if message.get("id") == self._last_id and "method" not in message:
                return dict(message)

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._stdin.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError as error:
            raise self._gone() from error

    def _line(self, deadline: float) -> bytes:
        source = self._stdout.fileno()
        while b"\n" not in self._unread:
            ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                message = f"the relay gave no answer within {REPLY_SECONDS:.0f} s"
                raise PeerError(message)
            data = os.read(source, READ_BYTES)
            if not data:
                raise self._gone()
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _gone(self) -> PeerError:
        return PeerError("the relay ended before it answered")

    def _leave(self) -> None:
        with self._child:
            self._stdin.close()
            try:
                self._child.wait(LEAVE_SECONDS)
            except subprocess.TimeoutExpired:
                self._child.kill()
