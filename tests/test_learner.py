"""What one run of the learner makes of a state folder, whatever is in it."""

import fcntl
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from fixtures.journals import call_line, end_line, failed_line, relay_line, task_lines, write_journal
from fixtures.learners import (
    CALLS,
    EVIDENCE,
    once,
    opened,
    rows,
    spoken,
)
from rearview import learning
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


def test_a_task_that_can_not_be_learned_is_marked_and_the_others_are_learned(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    ballot_of = learning.ballot_of

    def stumble(connection: Any, trajectory: Any, *more: Any) -> Any:
        if trajectory.client == "2-bad":
            raise LookupError
        return ballot_of(connection, trajectory, *more)

    monkeypatch.setattr(learning, "ballot_of", stumble)
    for number, client in enumerate(["1-good", "2-bad", "3-good"]):
        write_journal(state.journal, f"r{number}", task_lines(f"r{number}", client, time.time() - 9, 6))

    assert once(state) == 0

    tasks = rows(state, "SELECT client, state, error FROM trajectories ORDER BY client")
    assert tasks == [("1-good", "learned", ""), ("2-bad", "failed", "LookupError"), ("3-good", "learned", "")]
    assert rows(state, "SELECT count(*) FROM records WHERE trace_id IS NULL") == [(0,)]


def test_a_torn_last_line_is_waited_for_while_its_relay_lives_and_passed_over_when_it_is_dead(
    state: StateFolder,
) -> None:
    now = time.time()
    whole, torn = call_line("r1", 2, now), call_line("r1", 3, now)
    path = write_journal(state.journal, "r1", [relay_line("r1", 1, now), b"no JSON\n", whole, torn[:40]])

    with path.open("ab") as relay:
        fcntl.flock(relay, fcntl.LOCK_EX)
        once(state)
        first = rows(state, CALLS)
        relay.write(torn[40:] + torn[:7])
        relay.flush()
        once(state)
        second = rows(state, CALLS)
        kept = path.exists()
    once(state)

    assert (first, second, kept) == ([("r1", 2)], [("r1", 2), ("r1", 3)], True)
    assert rows(state, CALLS) == second
    assert not path.exists()


def test_calls_that_come_after_their_task_was_learned_follow_it_without_a_second_vote(state: StateFolder) -> None:
    now = time.time() - 60
    early = [
        failed_line("r1", 2, now),
        failed_line("r1", 3, now + 9, grade="ok", kind=None, result="", digest="cd" * 16),
    ]
    write_journal(state.journal, "r1", [relay_line("r1", 1, now), *early, end_line("r1", 4, now + 10)])
    once(state)
    before = {key: failed for key, failed, _ in rows(state, EVIDENCE)}

    write_journal(state.journal, "r2", [relay_line("r2", 1, now), failed_line("r2", 2, now + 5)])
    once(state)

    after = {key: failed for key, failed, _ in rows(state, EVIDENCE)}
    roots = rows(state, "SELECT count(*), count(DISTINCT root) FROM trajectories")
    assert (after, roots) == (before, [(2, 1)])


def test_open_tasks_are_left_open_unless_all_are_to_be_taken_as_over(state: StateFolder) -> None:
    now = time.time()
    path = write_journal(state.journal, "r1", [relay_line("r1", 1, now, f"{os.getpid()}-x")])
    with path.open("ab") as relay:
        fcntl.flock(relay, fcntl.LOCK_EX)
        relay.write(failed_line("r1", 2, now, f"{os.getpid()}-x"))
        relay.flush()

        once(state)
        before = rows(state, "SELECT count(*) FROM trajectories")
        once(state, "--all")

    assert (before, rows(state, "SELECT count(*) FROM trajectories")) == ([(0,)], [(1,)])


def test_a_damaged_ledger_is_moved_aside_and_reported_and_the_journals_still_there_are_learned(
    state: StateFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    state.ledger.write_bytes(b"this is no database" * 1000)
    write_journal(state.journal, "r1", task_lines("r1", "1-x", time.time() - 9, 6))

    assert once(state) == 0

    aside = [path.read_bytes() for path in state.root.glob("ledger.sqlite3.corrupt-*")]
    assert aside == [b"this is no database" * 1000]
    assert len(rows(state, CALLS)) == 6
    assert capfd.readouterr().err.count("ledger.corrupt") == 1


def test_a_ledger_of_a_newer_version_is_left_alone_and_the_journals_wait(
    state: StateFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    with opened(state) as ledger, ledger.writing() as connection:
        connection.exec_driver_sql("UPDATE schema_version SET version = 999")
    write_journal(state.journal, "r1", task_lines("r1", "1-x", time.time() - 9, 6))

    assert once(state) == 1

    assert "newer mcp-rearview (ledger version 999" in capfd.readouterr().err
    assert len(journal_files(state.journal)) == 1


@pytest.mark.parametrize("name", ["ledger.sqlite3", "learner.lock"])
def test_a_state_folder_that_can_not_be_used_ends_the_learner_with_one_line(
    state: StateFolder, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (state.root / name).mkdir()

    assert once(state) == 1

    err = capfd.readouterr().err
    assert (err.count("\n"), "can't be opened" in err) == (1, True)


def test_a_lessons_table_that_is_gone_is_written_again_at_the_next_start(state: StateFolder) -> None:
    for number in range(2):
        write_journal(state.journal, f"r{number}", task_lines(f"r{number}", f"{number}-x", time.time() - 9, 6))
    once(state)
    before = spoken(state)
    state.lessons.unlink()

    once(state)

    assert spoken(state) == before != set()


def test_the_log_is_private_holds_no_arguments_and_says_what_was_learned(state: StateFolder) -> None:
    write_journal(state.journal, "r1", task_lines("r1", "1-x", time.time() - 9, 6))

    once(state)

    log = state.root / "learner.log"
    assert log.stat().st_mode & 0o777 == 0o600
    assert "notes.txt" not in log.read_text()
    assert [name in log.read_text() for name in ("trajectory.learned", "lesson.born", "lessons.published")] == [
        True
    ] * 3
    shutil.rmtree(state.root)
