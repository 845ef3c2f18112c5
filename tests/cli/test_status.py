"""What `status` says of a state folder that is empty, used, held, or can't be used."""

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commands import Run
from fixtures.journals import call_line, end_line, line, relay_line, write_journal
from rearview.store.state import StateFolder, open_state


def test_a_new_folder_has_nothing_and_no_problems(run: Run) -> None:
    facts = run("status", "--json").data()

    assert (facts["relays"], facts["problems"], facts["seen"]["calls"]) == ([], [], 0)


def test_right_after_a_run_everything_is_learned_and_counted(run: Run, seen: Path) -> None:
    facts = run("status", "--json").data()

    assert facts["seen"]["calls"] == 6
    assert facts["seen"]["failed"] == 3
    assert facts["learned"]["tasks"] == 3
    assert facts["learned"]["lessons"] > 0
    assert facts["problems"] == []


def test_people_read_the_same_in_words(run: Run, seen: Path) -> None:
    told = run("status").out

    assert "Seen: 6 calls, 3 failed (3 argument)" in told
    assert "from 3 tasks" in told
    assert "no relay is running now" in told
    assert "No problems." in told


def held_task(root: Path, relay: str, *then: dict[str, Any]) -> None:
    """A task of one held call, hours ago, and what came after it."""
    client, start = f"{relay}-client", time.time() - 20_000
    said, unknown = {"channel": "hold", "lesson": "ab"}, {"grade": "unknown", "digest": "ab" * 16}
    calls = [call_line(relay, 2, start + 1, client, said=said, **unknown)]
    calls += [call_line(relay, 3 + index, start + 2 + index, client, **fields) for index, fields in enumerate(then)]
    lines = [relay_line(relay, 1, start, client), *calls, end_line(relay, 9, start + 9)]
    write_journal(root / "journal", relay, lines)


REPEATED = {"digest": "ab" * 16, "said": {"channel": "repeat", "lesson": "ab"}}


def test_only_a_held_call_that_was_changed_and_did_not_work_as_it_was_counts_as_saved(run: Run, root: Path) -> None:
    held_task(root, "r1", {"digest": "cd" * 16})
    held_task(root, "r2", REPEATED)
    held_task(root, "r3", {"digest": "cd" * 16}, REPEATED)
    held_task(root, "r4")

    facts = run("status", "--json").data()
    told = run("status").out

    assert (facts["said"]["hold"]["times"], facts["said"]["hold"]["then_worked"], facts["saved"]) == (4, 3, 1)
    assert "Saved: 1 failing call that was never made; the agent changed it, and that worked." in told


def test_one_of_a_kind_is_told_in_the_singular(run: Run, root: Path) -> None:
    held_task(root, "r1")

    told = run("status").out

    assert "Seen: 1 call, 0 failed" in told
    assert "Learned: 0 lessons (0 muted) from 1 task; 0 calls belong to tasks that go on" in told


def test_a_relay_that_runs_is_named_with_its_client(run: Run, root: Path) -> None:
    open_state(root)
    now = time.time()
    named = line("server", "r1", 2, now, server="files", server_version="1.2", client_name="claude-code",
                 client_version="2", modern=False)  # fmt: skip
    journal = write_journal(root / "journal", "r1", [relay_line("r1", 1, now), named])
    handle = os.open(journal, os.O_WRONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)

    facts = run("status", "--json").data()
    told = run("status").out
    os.close(handle)

    relay = {"server": "files", "server_version": "1.2", "client": "claude-code", "pid": 1, "started": now}
    assert facts["relays"] == [relay]
    assert "claude-code" in told


def test_what_relays_reported_is_told_once_each_and_not_for_ever(run: Run, root: Path) -> None:
    state = open_state(root)
    reports = [
        {"at": time.time() - 90_000, "event": "journal.old", "path": "x"},
        {"at": time.time(), "event": "journal.full", "dropped": 3},
        {"at": time.time(), "event": "journal.full", "dropped": 4},
    ]
    state.problems.write_text("\n".join(map(json.dumps, reports)) + "\nnot json\n[1]\n")

    problems = run("status", "--json").data()["problems"]

    assert len(problems) == 1
    assert "journal.full" in problems[0]
    assert "dropped: 4" in problems[0]


def test_interceptors_that_could_not_be_loaded_are_told_one_by_one_while_they_are_named(
    run: Run, root: Path, tmp_path: Path
) -> None:
    state = open_state(root)
    (tmp_path / "config.toml").write_text('owner = "ann"\ninterceptors = ["mine.rules:make", "mine.words:make"]\n')
    reports = [
        {"at": time.time(), "event": "interceptor.not_loaded", "name": name, "reason": "ImportError: no"}
        for name in ("mine.rules:make", "mine.words:make", "mine.rules:make", "gone.long:ago")
    ]
    state.problems.write_text("\n".join(map(json.dumps, reports)) + "\n")

    problems = run("status", "--json").data()["problems"]

    assert [problem.partition(" could")[0] for problem in problems] == [
        "the interceptor mine.rules:make", "the interceptor mine.words:make",
    ]  # fmt: skip
    assert "(ImportError: no; " in problems[0]
    assert "correct or install it" in problems[0]


@pytest.mark.parametrize("name", ["relay-problems.jsonl", "learner.log"])
@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_stands_in_the_place_of_a_log_keeps_nobody_waiting(
    run: Run, root: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(open_state(root).root / name)

    problems = run("status", "--json").data()["problems"]

    assert problems == [f"{root / name} is no plain file, so nothing can be read from it: delete it"]


def test_what_the_learner_logged_as_an_error_is_told(run: Run, root: Path) -> None:
    open_state(root)
    moment = datetime.now(UTC).isoformat()
    lines = [
        {"level": "error", "event": "ledger.corrupt", "moved_to": "aside", "timestamp": moment},
        {"level": "info", "event": "learner.started", "timestamp": moment},
        {"level": "error", "event": "long.ago", "timestamp": "2020-01-01T00:00:00Z"},
    ]
    (root / "learner.log").write_text("\n".join(map(json.dumps, lines)) + "\n")

    problems = run("status", "--json").data()["problems"]

    assert [problem.partition(" (")[0] for problem in problems] == ["the learner reported ledger.corrupt"]
    assert problems[0].endswith("): moved_to: aside")


def test_a_broken_lessons_table_is_explained_while_somebody_else_learns(run: Run, seen: Path) -> None:
    run("learn", "--once")
    (seen / "lessons.rvt").write_bytes(b"x" * 200)
    with StateFolder(seen).lock.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        facts = run("status", "--json").data()

    assert facts["learner"] == "running in the background"
    assert len(facts["problems"]) == 1
    assert "lessons.rvt" in facts["problems"][0]
    assert "Relays say nothing" in facts["problems"][0]


def test_a_broken_lessons_table_is_replaced_by_the_next_command(run: Run, seen: Path) -> None:
    run("learn", "--once")
    (seen / "lessons.rvt").write_bytes(b"x" * 200)

    problems = run("status", "--json").data()["problems"]

    assert problems == []


def test_a_folder_of_a_newer_version_is_a_problem_and_not_a_crash(run: Run, root: Path) -> None:
    open_state(root)
    (root / "version").write_text("99\n")

    printed = run("status", "--json")

    assert printed.code == 1
    assert "newer version" in printed.data()["problems"][0]
    assert "Problem: " in run("status").out


def test_a_folder_that_can_t_be_made_is_a_problem_and_not_a_crash(run: Run, root: Path) -> None:
    root.write_text("a file is in the way")

    printed = run("status", "--json")

    assert printed.code == 1
    assert str(root) in printed.data()["problems"][0]
    assert "move that file away" in printed.data()["problems"][0]


def test_a_damaged_ledger_begins_anew_and_is_told(run: Run, root: Path) -> None:
    state = open_state(root)
    state.ledger.write_bytes(b"this is no database at all" * 100)

    first = run("status", "--json")

    assert first.code == 0
    assert "ledger.corrupt" in first.data()["problems"][0]
    with closing(sqlite3.connect(state.ledger)) as ledger:
        assert ledger.execute("select count(*) from records").fetchone() == (0,)


@pytest.mark.parametrize("plain", [True, False])
def test_a_name_of_a_server_can_t_command_the_terminal(run: Run, root: Path, plain: bool) -> None:
    open_state(root)
    relay = line(
        "relay", "r1", 1, time.time(), owner="ann", client="1-c", server="a\x1b[2Jb", env=[], pid=1, started=1.0
    )
    handle = os.open(write_journal(root / "journal", "r1", [relay]), os.O_WRONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)

    told = run("status", *(["--plain"] if plain else [])).out
    os.close(handle)

    assert "\x1b" not in told
    assert "a [2Jb" in told
