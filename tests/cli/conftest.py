"""A state folder in which three tasks have failed alike, and commands that look at it."""

import time
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
