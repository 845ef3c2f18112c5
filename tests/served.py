"""A relay that listens, the scripted HTTP server behind it, and a client that sees raw bytes."""

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from wrapped import PATIENCE_SECONDS, environment

Answer = bytes | Sequence[bytes]
"""What a scripted server sends: raw bytes, or parts of them that are sent one by one as the client takes them."""


@dataclass
class Asked:
    """One request as the server saw it."""

    head: bytes
    body: bytes

    @property
    def message(self) -> Any:
        return json.loads(self.body)


@dataclass
class Upstream:
    """Answers as it is told, and keeps what it was asked."""

    answer: Callable[[Asked], Answer]
    asked: list[Asked] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    _listener: socket.socket | None = None
    _open: list[socket.socket] = field(default_factory=list)

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        for each in [self._listener, *self._open]:
            if each is not None:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
        self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError, ValueError), client, client.makefile("rb") as stream:
            self._answer(client, stream)
        self.left.set()

    def _answer(self, client: socket.socket, stream: BinaryIO) -> None:
        while head := b"".join(iter(lambda: stream.readline().removesuffix(b"\r\n") + b"\n", b"\n")):
            length = re.search(rb"(?i)^content-length: (\d+)$", head, re.MULTILINE)
            asked = Asked(head, stream.read(int(length[1])) if length else b"")
            self.asked.append(asked)
            answer = self.answer(asked)
            for part in [answer] if isinstance(answer, bytes) else answer:
                client.sendall(part)


@dataclass
class Served:
    """A listening relay and how to talk to it."""

    process: subprocess.Popen[bytes]
    port: int

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)

    def raw(self, data: bytes) -> bytes:
        """Send bytes on a connection of their own and return all that comes back until it closes."""
        with self.connect() as client:
            client.sendall(data)
            return b"".join(iter(lambda: client.recv(65536), b""))

    def request(self, method: str, target: str = "/mcp", body: bytes = b"", *fields: str) -> tuple[int, bytes, bytes]:
        """Return status, head and body as it came (chunked or not)."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Connection: close", *fields]
        if body:
            lines += [f"Content-Length: {len(body)}", "Content-Type: application/json"]
        answer = self.raw("\r\n".join([*lines, "", ""]).encode() + body)
        head, _, rest = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), head, rest

    def post(self, message: Any, *fields: str) -> tuple[int, bytes, bytes]:
        return self.request("POST", "/mcp", json.dumps(message).encode(), *fields)


def served(home: Path, upstream: str, *options: str) -> AbstractContextManager[Served]:
    """Run a relay before an HTTP server."""
    return listening(home, "--upstream", upstream, *options)


def write_settings(home: Path) -> None:
    """Settings for tests about bytes: nobody learns behind them, and what may be said is said."""
    config = home / ".config" / "rearview" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[learner]\nenabled = false\n[warn]\ncontrol_share = 0.0\n")


@contextmanager
def listening(home: Path, *options: str) -> Iterator[Served]:
    """Run a relay on a port that the system picks, and wait until it listens."""
    command = [sys.executable, "-m", "mcp_rearview", "serve", "--listen", "127.0.0.1:0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment(home))
    assert process.stderr is not None
    reader = threading.Thread(target=process.stderr.read, daemon=True)
    try:
        ready = json.loads(process.stderr.readline())
        reader.start()
        yield Served(process, int(re.sub(r".*:(\d+)/mcp", r"\1", ready["listen"])))
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
        reader.join(PATIENCE_SECONDS)
        process.stderr.close()


def whole(body: bytes, kind: str = "application/json", status: str = "200 OK", more: str = "") -> bytes:
    """Return a response whose length is known."""
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


def streamed(parts: Sequence[bytes], more: str = "") -> list[bytes]:
    """Return the parts of a response in chunks, one of each part."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{more}Transfer-Encoding: chunked\r\n\r\n".encode()
    return [head, *(b"%x\r\n%b\r\n" % (len(part), part) for part in parts), b"0\r\n\r\n"]


def unchunked(body: bytes) -> bytes:
    """Return what the chunks of a body hold."""
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        found, body = found + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return found


def call(message_id: Any, tool: str = "read", **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": message_id, "method": "tools/call", "params": params}


def result(message_id: Any, text: str, *, failed: bool = False) -> bytes:
    body = {"jsonrpc": "2.0", "id": message_id, "result": {"content": [{"type": "text", "text": text}]}}
    if failed:
        body["result"] |= {"isError": True}  # type: ignore[operator]
    return json.dumps(body).encode()
