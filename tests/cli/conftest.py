"""A state folder in which three tasks have failed alike, and commands that look at it."""

import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Printed, Run
from fixtures.journals import call_line, end_line, failed_line, relay_line, write_journal
from rearview.cli.main import main


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on the state folder as the owner `ann`."""
    config = tmp_path / "config.toml"
    config.write_text('owner = "ann"\n')
    for name in ("REARVIEW_CONFIG", "REARVIEW_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    def command(*arguments: str) -> Printed:
        code = main(["--config", str(config), "--state", str(root), *arguments])
        printed = capsys.readouterr()
        return Printed(code, printed.out, printed.err)

    return command


@pytest.fixture
def terminal(root: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """Run a command at a terminal of 80 columns and return the lines that it shows."""
    config = tmp_path / "config.toml"
    config.write_text('owner = "ann"\n')

    def command(*arguments: str) -> list[str]:
        parent, child = pty.openpty()
        whole = [sys.executable, "-m", "rearview.cli.main", "--state", str(root), "--config", str(config), *arguments]
        subprocess.run(whole, stdout=child, check=True, env={"TERM": "dumb", "COLUMNS": "80", "HOME": str(tmp_path)})
        os.close(child)
        told = b""
        # The other end is closed, which Linux tells as an error once all is read.
        while True:
            try:
                told += os.read(parent, 65536)
            except OSError:
                break
        os.close(parent)
        return told.decode().splitlines()

    return command


@pytest.fixture
def seen(root: Path) -> Path:
    """Journals of three tasks, hours ago: in each a relative path fails and an absolute one works."""
    for number, name in enumerate(("notes.txt", "plan.txt", "list.txt")):
        relay, client, start = f"r{number}", f"{number}-client", time.time() - 20_000 + 3_000 * number
        lines = [
            relay_line(relay, 1, start, client),
            failed_line(
                relay, 2, start + 1, client, arguments={"path": name}, digest=f"{number:032x}",
                result=f"path must be absolute: {name}",
            ),
            call_line(relay, 3, start + 2, client, arguments={"path": f"/data/{name}"}, result="some text"),
            end_line(relay, 4, start + 3),
        ]  # fmt: skip
        write_journal(root / "journal", relay, lines)
    return root
