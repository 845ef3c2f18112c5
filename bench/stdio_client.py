"""A raw client on the pipes of a process: no SDK, so that it costs little itself."""

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


class Client:
    """One conversation. `calls` counts the tool calls that were made."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        started = time.perf_counter()
        with log.open("wb") as errors:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=errors, env=dict(environment), bufsize=0
            )
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._rest = b""
        self.calls = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self._request("initialize", hello)
        self.start_s = time.perf_counter() - started
        self._request("tools/list", {})

    def _request(self, method: str, params: object) -> None:
        os.write(self._in, json.dumps({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}).encode() + b"\n")
        self._lines(1)

    def failing(self, tool: str, arguments: object) -> None:
        """Make one call whatever comes of it."""
        self._request("tools/call", {"name": tool, "arguments": arguments})

    def _lines(self, wanted: int) -> list[bytes]:
        lines: list[bytes] = []
        while len(lines) < wanted:
            if not self._poll.poll(20_000):
                raise TimeoutError
            data = os.read(self._out, 1 << 20)
            if not data:
                raise EOFError
            *whole, self._rest = (self._rest + data).split(b"\n")
            lines += whole
        return lines

    def _call(self, size: int, reply: int) -> bytes:
        self.calls += 1
        text = f"note {self.calls:08d} " + "word " * (max(0, size - 14) // 5)
        params = {"name": "echo", "arguments": {"text": text, "reply": reply}}
        body = {"jsonrpc": "2.0", "id": self.calls, "method": "tools/call", "params": params}
        return json.dumps(body).encode() + b"\n"

    def one_by_one(self, number: int, size: int, reply: int) -> list[float]:
        """Make calls one after the other; return the seconds that each took."""
        took = []
        for line in [self._call(size, reply) for _ in range(number)]:
            before = time.perf_counter()
            self._send(line)
            self._lines(1)
            took.append(time.perf_counter() - before)
        return took

    def in_flight(self, number: int, size: int, reply: int, window: int) -> float:
        """Keep `window` calls on their way until `number` are answered; return calls a second."""
        lines = [self._call(size, reply) for _ in range(number)]
        before = time.perf_counter()
        sent = done = 0
        while done < number:
            upto = min(number, done + window)
            if upto > sent:
                self._send(b"".join(lines[sent:upto]))
                sent = upto
            done += len(self._lines(1))
        return number / (time.perf_counter() - before)

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._in, view) :]

    def resident_mb(self) -> float:
        """Return the resident size of the process itself, without its children."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> int:
        """End the conversation; return the exit code."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        code = self.process.wait(10)
        self.process.stdout.close()
        return code
