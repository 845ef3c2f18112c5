"""A real `mcp-rearview wrap` around a real child, spoken to through real pipes."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

SERVER = str(Path(__file__).parent / "fixtures" / "stdio_server.py")
PATIENCE_SECONDS = 20.0


def environment(state: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REARVIEW_", "PYTHON", "XDG_"))}
    return {**kept, "HOME": str(state), "REARVIEW_STATE_DIR": str(state / "state"), **more}


class Wrapped:
    """One running wrap. Reading waits for a line, never for a while."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.stderr = bytearray()
        self._id = 0
        assert process.stdout
        assert process.stderr
        self._threads = [
            threading.Thread(target=self._read_lines, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._read_stderr, args=(process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read_lines(self, stream: BinaryIO) -> None:
        rest = b""
        while data := os.read(stream.fileno(), 65536):
            *whole, rest = (rest + data).split(b"\n")
            for each in whole:
                self.lines.put(each + b"\n")
        self.lines.put(rest)

    def _read_stderr(self, stream: BinaryIO) -> None:
        while data := os.read(stream.fileno(), 4096):
            self.stderr += data

    def send(self, data: bytes | dict[str, Any]) -> None:
        raw = data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n"
        assert self.process.stdin
        view = memoryview(raw)
        while view:
            view = view[os.write(self.process.stdin.fileno(), view) :]

    def receive(self) -> bytes:
        return self.lines.get(timeout=PATIENCE_SECONDS)

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the next message that answers it."""
        self._id += 1
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params or {}})
        while line := self.receive():
            body: dict[str, Any] = json.loads(line)
            if body.get("id") == self._id and "method" not in body:
                return body
        raise EOFError

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}})

    def text(self, tool: str, arguments: dict[str, Any] | None = None) -> str:
        said: str = self.call(tool, arguments)["result"]["content"][0]["text"]
        return said

    def hello(self) -> None:
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def ended(self) -> int:
        code = self.process.wait(PATIENCE_SECONDS)
        self.join()
        return code

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream
            stream.close()

    def said_on_stderr(self, text: str) -> bool:
        return eventually(lambda: text.encode() in self.stderr)


@contextmanager
def wrapped(
    state: Path, command: Sequence[str] = (), *, options: Sequence[str] = (), cwd: Path | None = None, **more: str
) -> Iterator[Wrapped]:
    argv = [sys.executable, "-m", "mcp_rearview", "wrap", *options, "--", *(command or (sys.executable, SERVER))]
    pipe = subprocess.PIPE
    env = environment(state, **more)
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd, bufsize=0)
    running = Wrapped(process)
    try:
        yield running
    finally:
        running.close_input()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        running.join()


def eventually(condition: Callable[[], bool], patience: float = PATIENCE_SECONDS) -> bool:
    """Wait for a condition with a deadline."""
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
