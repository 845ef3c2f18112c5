"""Starting the learner from a relay: cheaply, detached, once, and never in the way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rearview.store import background
from rearview.store.background import LONGEST_GAP_SECONDS, Pace, ensure_learner, is_running
from rearview.store.state import StateFolder, open_state


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StateFolder]:
    monkeypatch.setattr(background, "_pace", Pace())
    folder = open_state(tmp_path / "state")
    yield folder
    if is_running(folder):
        os.kill(learner_of(folder), signal.SIGKILL)


def learner_of(state: StateFolder) -> int:
    return int(state.lock.read_text().split()[0])


def eventually(claim: Callable[[], bool], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.02)


def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def has_started(state: StateFolder) -> bool:
    return is_running(state) and state.lock.read_text().count("\n") == 1


def test_the_learner_that_is_started_belongs_to_nobody_here_and_leaves_no_zombie(
    state: StateFolder, tmp_path: Path
) -> None:
    secret = {"API_TOKEN": "do-not-pass", "PYTHONPATH": "/nowhere", "REARVIEW_TEST": "pass"}

    started = ensure_learner(state, None, environment(tmp_path) | secret)

    eventually(lambda: has_started(state))
    proc = Path("/proc") / str(learner_of(state))
    status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines() if ":\t" in line)
    names = {item.split(b"=")[0].decode() for item in (proc / "environ").read_bytes().split(b"\0") if item}
    session = os.getsid(learner_of(state))
    eventually(lambda: background.reap() is None and not background._started)
    assert started
    assert int(status["PPid"]) != os.getpid()
    assert session not in (os.getsid(0), os.getpid())
    assert names - {"LC_CTYPE"} == {"HOME", "PATH", "LANG", "REARVIEW_TEST"}
    assert str((proc / "cwd").readlink()) == "/"
    assert {str((proc / "fd" / str(number)).readlink()) for number in range(3)} == {"/dev/null"}


def test_a_second_request_starts_nothing_while_a_learner_runs(state: StateFolder, tmp_path: Path) -> None:
    ensure_learner(state, None, environment(tmp_path))
    eventually(lambda: has_started(state))

    assert ensure_learner(state, None, environment(tmp_path)) is False


def test_the_learner_ends_cleanly_when_it_is_told_and_a_later_request_starts_another(
    state: StateFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_learner(state, None, environment(tmp_path))
    eventually(lambda: has_started(state))
    first = learner_of(state)

    os.kill(first, signal.SIGTERM)

    eventually(lambda: not is_running(state))
    monkeypatch.setattr(background, "_pace", Pace())
    assert ensure_learner(state, None, environment(tmp_path)) is True
    eventually(lambda: has_started(state) and learner_of(state) != first)


def test_a_place_where_nothing_can_be_started_is_reported_once_and_does_no_harm(
    state: StateFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    monkeypatch.setattr(background, "_reported", set())

    started = []
    for _ in range(3):
        monkeypatch.setattr(background, "_pace", Pace())
        started.append(ensure_learner(state, None, environment(tmp_path)))

    assert started == [False] * 3
    assert capfd.readouterr().err.count("learner.not_started") == 1


def test_learners_that_end_at_once_are_started_ever_more_seldom() -> None:
    pace, now, gaps = Pace(), 0.0, []

    for _ in range(10):
        pace.start(now)
        gaps.append(pace.not_before - now)
        now = pace.not_before
    pace.start(now + 3 * LONGEST_GAP_SECONDS)

    assert gaps == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0]
    assert pace.not_before == now + 3 * LONGEST_GAP_SECONDS + 2.0


def test_modules_of_the_project_that_a_relay_runs_in_are_not_imported(
    state: StateFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    for name in ("rearview", "sqlalchemy", "json"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(f"open({str(tmp_path / 'shadowed')!r}, 'a')\n")
    monkeypatch.chdir(project)

    ensure_learner(state, None, environment(tmp_path) | {"PYTHONPATH": str(project)})

    eventually(lambda: has_started(state))
    assert not (tmp_path / "shadowed").exists()


def test_looking_for_a_learner_imports_nothing_heavy() -> None:
    code = "import sys; import rearview.store.background; print(*sorted(sys.modules))"

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    heavy = {
        "sqlalchemy",
        "structlog",
        "subprocess",
        "asyncio",
        "argparse",
        "logging",
        "tomllib",
        "sqlite3",
        "rearview.config",
    }
    assert heavy & set(printed.split()) == set()
