"""What a relay runs in: a home, a state folder and settings that a test may break; and a conversation to compare."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from wrapped import PATIENCE_SECONDS, SERVER, Wrapped, environment, eventually, is_alive

FIXTURES = Path(SERVER).parent
MODULE = (sys.executable, "-m", "mcp_rearview")
SCRIPT = (str(Path(sys.executable).with_name("mcp-rearview")),)
QUIET = '[learner]\nenabled = false\n[warn]\nmode = "observe"\n'


class Surroundings:
    """Everything in one temporary folder. Without a word about it, no learner is started in the background."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.config = folder / "config.toml"
        self.config.write_text(QUIET)

    def environment(self, **more: str) -> dict[str, str]:
        return environment(self.folder, **{"REARVIEW_CONFIG": str(self.config), **more})

    @contextmanager
    def relay(
        self, command: Sequence[str] = (sys.executable, SERVER), *, program: Sequence[str] = MODULE,
        options: Sequence[str] = (), cwd: Path | None = None, **more: str,
    ) -> Iterator[Wrapped]:  # fmt: skip
        argv = [*program, "wrap", *options, "--", *command]
        with started(argv, self.environment(**more), cwd) as running:
            yield running

    def command(
        self, *words: str, program: Sequence[str] = MODULE, cwd: Path | None = None, **more: str
    ) -> "subprocess.CompletedProcess[str]":
        env = self.environment(**more)
        argv = [*program, *words]
        return subprocess.run(argv, capture_output=True, text=True, env=env, cwd=cwd, timeout=60, check=False)

    def status(self, **more: str) -> dict[str, Any]:
        """What `mcp-rearview status` says; not crashed; the exit code tells if the folder is usable."""
        done = self.command("status", "--json", **more)
        assert done.stderr == ""
        facts: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (0 if facts["seen"] else 1)
        return facts

    def end_learner(self) -> None:
        """End the learner of this state folder, if one runs."""
        with suppress(OSError, ValueError, IndexError):
            lock = self.state / "learner.lock"
            # A test may have put a pipe there.
            pid = int(lock.read_text().split()[0]) if lock.is_file() else 0
            if str(self.state).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, 9)
                eventually(lambda: not is_alive(pid))


@contextmanager
def started(argv: Sequence[str], env: Mapping[str, str], cwd: Path | None = None) -> Iterator[Wrapped]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd, bufsize=0)
    running = Wrapped(process)
    try:
        yield running
    finally:
        with suppress(OSError):
            running.close_input()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        running.join()


def call_line(message_id: Any, tool: str, arguments: Any = None) -> bytes:
    params = {"name": tool, "arguments": {} if arguments is None else arguments}
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "method": "tools/call", "params": params}).encode() + b"\n"


ASKED = [
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
    *(call_line(f"c{number}", "echo", {"text": f"words {number}"}) for number in range(12)),
    call_line(2.5, "fail", {"text": "no such file"}),
    call_line("t", "noise"),
]


def talk(relay: Wrapped) -> list[bytes]:
    """Ask one by one, and return the answers as they came."""
    answers = []
    for line in ASKED:
        relay.send(line)
        answers.append(relay.receive())
    return answers


@cache
def direct_answers() -> list[bytes]:
    """The same conversation without a relay; what the server wrote beside the protocol is left out."""
    asked = b"".join(ASKED)
    done = subprocess.run([sys.executable, SERVER], input=asked, capture_output=True, check=False)
    return [line + b"\n" for line in done.stdout.split(b"\n") if line.startswith(b"{")]


def reports(stderr: bytes | bytearray) -> list[dict[str, Any]]:
    """What the relay itself has said on standard error."""
    return [json.loads(line) for line in bytes(stderr).splitlines() if line.startswith(b'{"rearview"')]
