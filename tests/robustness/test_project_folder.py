"""What lies in the user's project can't take our place, load anything, or make us louder.

Not defended, because Python runs it before any line of ours: with PYTHONPATH=., or with `python -m mcp_rearview` in
that folder, a `mcp_rearview/` or a module of the standard library that Python itself imports at its start (`types.py`).
The installed command does not look into the working folder, which is why clients call that.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from surroundings import MODULE, SCRIPT, Surroundings, direct_answers, reports, talk

from wrapped import eventually, is_alive

TRAP = "import pathlib; pathlib.Path({marker!r}).touch(); raise SystemExit('the project has taken over')\n"
PACKAGES = ("rearview", "rearview_interceptors", "sqlalchemy", "structlog", "rich")
MODULES = ("proxy", "orjson", "select", "queue", "_blake2", "heapq", "sqlite3", "fcntl", "tomllib", "argparse", "evil")
LATE = ("mcp_rearview",)
SETTINGS = """
interceptors = ["evil:make"]
url = "http://127.0.0.1:9/"
command = ["touch", "taken"]
[warn]
mode = "hold"
hold_min_trajectories = 1
[capture]
mode = "full"
[journal]
retention_days = 3650.0
max_total_mb = 100000
[learner]
enabled = false
"""


@pytest.fixture
def project(around: Surroundings) -> Path:
    folder = around.folder / "project"
    folder.mkdir()
    trap = TRAP.format(marker=str(around.folder / "taken"))
    for name in PACKAGES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(trap)
    for name in MODULES:
        (folder / f"{name}.py").write_text(trap)
    (folder / ".rearview.toml").write_text(SETTINGS)
    return folder


def add_late(around: Surroundings, project: Path) -> None:
    for name in LATE:
        (project / name).mkdir()
        (project / name / "__init__.py").write_text(TRAP.format(marker=str(around.folder / "taken")))


def server(around: Surroundings) -> list[str]:
    """The server must not fall into the traps itself: `-I` for it alone."""
    from wrapped import SERVER

    return [sys.executable, "-I", SERVER]


@pytest.mark.parametrize("path", [".", "", "absolute", ".:/nowhere"])
@pytest.mark.parametrize("program", [MODULE, SCRIPT], ids=["module", "script"])
def test_a_relay_in_such_a_folder_relays_and_writes_and_takes_nothing_over(
    around: Surroundings, project: Path, program: Sequence[str], path: str
) -> None:
    if program is SCRIPT and not path:
        add_late(around, project)
    entry = str(project) if path == "absolute" else path

    with around.relay(server(around), program=program, cwd=project, PYTHONPATH=entry) as relay:
        answers = talk(relay)
        assert eventually(lambda: len(list(around.state.glob("journal/*"))) == 1)

    said = reports(relay.stderr)
    assert answers == direct_answers()
    assert [report["rearview"] for report in said] == ["config.project_ignored"]
    for ignored in ("interceptors", "url", "command", "journal", "learner", "warn.hold_min_trajectories"):
        assert ignored in said[0]["note"]
    assert not (around.folder / "taken").exists()


@pytest.mark.parametrize("program", [MODULE, SCRIPT], ids=["module", "script"])
def test_commands_in_such_a_folder_work_and_take_nothing_over(
    around: Surroundings, project: Path, program: Sequence[str]
) -> None:
    with around.relay(server(around), program=program, cwd=project, PYTHONPATH=".") as relay:
        talk(relay)

    learn = around.command("learn", "--all", "--json", program=program, cwd=project, PYTHONPATH=".")
    status = around.command("status", "--json", program=program, cwd=project, PYTHONPATH=".")

    assert (learn.returncode, learn.stderr, status.returncode, status.stderr) == (0, "", 0, "")
    assert json.loads(status.stdout)["seen"]["calls"] == 14
    assert json.loads(status.stdout)["problems"] == []
    assert not (around.folder / "taken").exists()


@pytest.mark.parametrize("program", [MODULE, SCRIPT], ids=["module", "script"])
def test_the_learner_in_the_background_starts_from_such_a_folder_and_learns(
    around: Surroundings, project: Path, program: Sequence[str]
) -> None:
    around.config.write_text("[learner]\nidle_exit_s = 60.0\n")
    lock = around.state / "learner.lock"

    with around.relay(server(around), program=program, cwd=project, PYTHONPATH=".") as relay:
        talk(relay)
        assert eventually(lambda: lock.exists() and bool(lock.read_text()))
    pid = int(lock.read_text().split()[0])

    assert is_alive(pid)
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    assert b"PYTHONPATH" not in Path(f"/proc/{pid}/environ").read_bytes()
    assert eventually(lambda: not list(around.state.glob("journal/*")))
    assert not (around.folder / "taken").exists()


@pytest.mark.parametrize(("user", "asked"), [("observe", "hold"), ("observe", "hint"), ("hint", "hold")])
def test_a_project_can_not_make_us_louder(around: Surroundings, project: Path, user: str, asked: str) -> None:
    (project / ".rearview.toml").write_text(f'[warn]\nmode = "{asked}"\n[servers.s.tools.fail]\nmode = "{asked}"\n')
    around.config.write_text(f'[warn]\nmode = "{user}"\ncontrol_share = 0.0\n[learner]\nenabled = false\n')

    with around.relay(server(around), options=["--name", "s"], cwd=project) as relay:
        texts = [relay.text("fail", {"text": "no such file"}) for _ in range(4)]

    assert not any("did not run" in text or "nothing" in text.lower() for text in texts)
    if user == "observe":
        assert texts == ["no such file"] * 4


def test_a_project_can_not_have_more_written_down(around: Surroundings, project: Path) -> None:
    (project / ".rearview.toml").write_text('[capture]\nmode = "full"\n[servers.s]\ncapture = "full"\n')
    around.config.write_text('[capture]\nmode = "off"\n[learner]\nenabled = false\n')

    with around.relay(server(around), options=["--name", "s"], cwd=project) as relay:
        talk(relay)

    lines = [json.loads(line) for path in around.state.glob("journal/*") for line in path.read_bytes().splitlines()]
    assert [line for line in lines if line["t"] == "call"] == []


def test_the_servers_own_python_path_stays_what_it_was(around: Surroundings, project: Path) -> None:
    code = "import json,os,sys\nfor _ in sys.stdin: print(json.dumps({'path': os.environ['PYTHONPATH']}), flush=True)"

    with around.relay([sys.executable, "-I", "-c", code], cwd=project, PYTHONPATH=".:/elsewhere") as relay:
        relay.send(b"{}\n")

        assert json.loads(relay.receive()) == {"path": ".:/elsewhere"}
