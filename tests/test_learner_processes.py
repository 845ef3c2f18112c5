"""Learner processes: killed, doubled, replaced, and left alone."""

import fcntl
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from fixtures import journals
from fixtures.journals import end_line, failed_line, relay_line, task_lines, write_journal
from fixtures.learners import (
    CALLS,
    EVIDENCE,
    RELIABILITY,
    TASKS,
    eventually,
    holder,
    once,
    rows,
    running,
    spoken,
)
from rearview import learner
from rearview.config import Config
from rearview.store.journal_reader import journal_files
from rearview.store.state import StateFolder, open_state


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return open_state(tmp_path / "state")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("REARVIEW_CONFIG", raising=False)


pytestmark = pytest.mark.usefixtures("config")


def test_a_learner_that_is_killed_again_and_again_has_every_whole_line_once_and_counts_no_vote_twice(
    state: StateFolder, tmp_path: Path
) -> None:
    dice = random.Random(7)
    undisturbed = open_state(tmp_path / "undisturbed")
    start, written, writers = time.time(), [], []
    for number in range(15):
        relay, client, calls = f"r{number}", f"{number}-gone", dice.randrange(20, 300)
        write_journal(undisturbed.journal, relay, task_lines(relay, client, start, calls))
        arguments = [str(state.journal), relay, client, repr(start), str(calls), str(number)]
        writers.append(subprocess.Popen([sys.executable, journals.__file__, *arguments]))
        written += [(relay, seq) for seq in range(2, calls + 2)]
        with running(state) as process, pytest.raises(subprocess.TimeoutExpired):
            process.wait(dice.uniform(0.1, 0.9))
    assert [writer.wait(30) for writer in writers] == [0] * 15

    assert (once(state), once(undisturbed)) == (0, 0)

    assert rows(state, CALLS) == sorted(written)
    assert journal_files(state.journal) == []
    assert rows(state, EVIDENCE) == rows(undisturbed, EVIDENCE)
    assert rows(state, TASKS) == rows(undisturbed, TASKS)
    assert spoken(state) == spoken(undisturbed) != set()


def test_a_learner_that_is_killed_at_any_statement_goes_on_where_it_was(state: StateFolder, tmp_path: Path) -> None:
    undisturbed = open_state(tmp_path / "undisturbed")
    start = time.time() - 9
    for number in range(4):
        lines = task_lines(f"r{number}", f"{number}-gone", start, 12)
        for folder in (state, undisturbed):
            write_journal(folder.journal, f"r{number}", lines)
    once(undisturbed)

    deaths = 0
    while (status := killed_at_statement(state, 1 + deaths)) != 0:
        assert os.WIFSIGNALED(status), "it was to be killed, not to fail"
        deaths += 1

    assert deaths > 20
    queries = (CALLS, EVIDENCE, TASKS, RELIABILITY)
    assert [rows(state, query) for query in queries] == [rows(undisturbed, query) for query in queries]
    assert spoken(state) == spoken(undisturbed) != set()


def killed_at_statement(state: StateFolder, number: int) -> int:
    """Let a process of its own learn, and kill it before it executes this statement; its exit status."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    left = [number]

    def count(*_: Any) -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)
    try:
        os._exit(once(state))
    finally:
        os._exit(99)


def test_of_two_learners_that_start_at_once_one_stays_and_ends_cleanly_when_told(state: StateFolder) -> None:
    with running(state) as first, running(state) as second:
        eventually(lambda: None not in (first.poll(), second.poll()) or [first.poll(), second.poll()].count(0) == 1)
        stays = first if first.poll() is None else second

        assert holder(state) == [str(stays.pid), "1.0"]
        stays.send_signal(signal.SIGTERM)
        assert stays.wait(30) == 0


def test_a_newer_version_takes_over_and_an_older_one_leaves_it_alone(state: StateFolder) -> None:
    with running(state, "1.2") as older:
        eventually(lambda: holder(state) == [str(older.pid), "1.2"])

        with running(state, "1.10") as newer:
            assert older.wait(30) == 0
            eventually(lambda: holder(state) == [str(newer.pid), "1.10"])
            with running(state, "1.2") as late:
                assert late.wait(30) == 0
            assert newer.poll() is None


def test_lessons_reach_the_table_while_the_learner_runs(state: StateFolder) -> None:
    with running(state) as process:
        eventually(lambda: holder(state)[:1] == [str(process.pid)])

        now = time.time()
        write_journal(
            state.journal,
            "r1",
            [relay_line("r1", 1, now - 1), failed_line("r1", 2, now - 0.9), end_line("r1", 3, now - 0.8)],
        )

        eventually(lambda: "exact:" + "ab" * 16 in spoken(state))


def test_a_learner_that_nobody_needs_ends_by_itself(state: StateFolder, tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "rearview"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[learner]\nidle_exit_s = 0.1\n")

    with running(state) as process:
        assert process.wait(30) == 0


def test_a_learner_whose_state_folder_is_deleted_leaves(state: StateFolder) -> None:
    with running(state) as process:
        eventually(state.lessons.exists)

        state.root.rename(state.root.with_name("trash"))

        assert process.wait(30) == 0


def test_whoever_takes_open_tasks_as_over_makes_a_running_learner_leave_first(state: StateFolder) -> None:
    client = f"{os.getpid()}-x"
    path = write_journal(state.journal, "r1", [relay_line("r1", 1, time.time(), client)])
    with path.open("ab") as relay, running(state, learner.our_version()) as process:
        fcntl.flock(relay, fcntl.LOCK_EX)
        relay.write(failed_line("r1", 2, time.time(), client))
        relay.flush()
        eventually(lambda: holder(state)[:1] == [str(process.pid)])

        here = learner.catch_up(state, Config(), all_ended=True)

        assert (here, process.wait(30), rows(state, "SELECT count(*) FROM trajectories")) == (True, 0, [(1,)])


def test_catching_up_leaves_the_work_to_a_learner_that_runs(state: StateFolder) -> None:
    write_journal(state.journal, "r1", task_lines("r1", "1-x", time.time() - 9, 6))
    with running(state, learner.our_version()) as process:
        eventually(lambda: holder(state)[:1] == [str(process.pid)])

        here = learner.catch_up(state, Config(), wait_s=20.0)

        assert (here, journal_files(state.journal), process.poll()) == (False, [], None)
