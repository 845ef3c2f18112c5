"""What `calls` and `learn` print."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Run
from fixtures.journals import call_line, end_line, relay_line, write_journal
from rearview.store.state import StateFolder


def test_the_newest_call_is_last_and_failures_say_their_kind(run: Run, seen: Path) -> None:
    calls = run("calls", "--json").data()

    assert [call["grade"] for call in calls] == ["flagged", "ok"] * 3
    assert calls[-2]["kind"] == "argument"
    assert calls[-1]["arguments"] == {"path": "/data/list.txt"}
    assert [call["at"] for call in calls] == sorted(call["at"] for call in calls)


def test_calls_can_be_chosen_by_server_failure_and_number(run: Run, seen: Path) -> None:
    chosen = run("calls", "--failed", "--limit", "2", "--server", "files", "--json").data()

    assert [call["arguments"]["path"] for call in chosen] == ["plan.txt", "list.txt"]
    assert run("calls", "--server", "git", "--json").data() == []
    assert run("calls", "--server", "git").out == "No call fits --server git. There are calls of: files.\n"


def test_without_any_call_it_says_when_they_come(run: Run) -> None:
    assert run("calls", "--server", "git").out.startswith("No calls yet.")


def test_people_get_one_line_a_call(run: Run, seen: Path) -> None:
    told = run("calls").out.splitlines()

    assert told[0].split() == ["at", "outcome", "ms", "call", "and", "answer"]
    assert len(told) == 7
    assert told[1].split("  ")[1].strip() == "flagged"
    assert told[1].endswith('read of files {"path": "notes.txt"} (wrong arguments): path must be absolute: notes.txt')


@pytest.mark.parametrize("options", [(), ("--plain",)])
def test_calls_fit_a_terminal_of_80_columns_and_break_no_time(
    terminal: Callable[..., list[str]], seen: Path, options: tuple[str, ...]
) -> None:
    told = terminal("calls", *options)

    assert max(map(len, told)) <= 80
    rows = [line for line in told if re.match(r" *\d\d-\d\d \d\d:\d\d:\d\d +(ok|flagged) +1 +read of files", line)]
    assert len(rows) == 6


@pytest.mark.parametrize("number", ["0", "-1", "many", "1.5", "9" * 30])
def test_a_number_that_can_t_be_is_refused_with_those_that_can(run: Run, seen: Path, number: str) -> None:
    printed = run("calls", f"--limit={number}")

    assert printed.code == 2
    assert f"--limit: {number!r} is none; it takes a whole number from 1 to 1000000" in printed.err


def test_following_prints_what_is_there_then_what_comes_and_ends_quietly_on_ctrl_c(
    run: Run, seen: Path, tmp_path: Path
) -> None:
    config = str(tmp_path / "config.toml")
    command = [sys.executable, "-m", "rearview.cli.main", "--state", str(seen), "--config", config, "calls", "--json"]
    pipe = subprocess.PIPE

    with subprocess.Popen([*command, "--follow", "--limit", "2"], stdout=pipe, stderr=pipe) as child:
        assert child.stdout is not None
        lines = [json.loads(child.stdout.readline()) for _ in range(2)]
        now = time.time()
        write_journal(seen / "journal", "new", [relay_line("new", 1, now), call_line("new", 2, now)])
        lines.append(json.loads(child.stdout.readline()))
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=20)

    assert [(line["relay"], line["grade"]) for line in lines] == [("r2", "flagged"), ("r2", "ok"), ("new", "ok")]
    assert (child.returncode, errors) == (130, b"")


def test_a_reader_that_leaves_early_is_no_error(seen: Path, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [sys.executable, "-m", "rearview.cli.main", "--state", str(seen), "calls", "--json"],
        stdout=writer, stderr=subprocess.PIPE, check=False, env={"HOME": str(tmp_path)},
    )  # fmt: skip
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


def test_learning_says_what_there_is_now(run: Run, seen: Path) -> None:
    learned = run("learn", "--once", "--json").data()

    assert (learned["done"], learned["tasks"], learned["calls_waiting"]) == (True, 3, 0)
    assert learned["lessons"] > 0


def test_learning_all_takes_a_task_as_over_that_goes_on(run: Run, seen: Path) -> None:
    now, client = time.time(), f"{os.getpid()}-now"
    write_journal(seen / "journal", "live", [relay_line("live", 1, now, client), call_line("live", 2, now, client)])

    once = run("learn", "--once", "--json").data()
    everything = run("learn", "--all", "--json").data()

    assert everything["tasks"] >= once["tasks"] >= 3
    assert everything["calls_waiting"] == 0


def test_a_learner_in_the_background_that_has_nothing_to_do_is_not_at_work(run: Run, seen: Path) -> None:
    run("learn", "--once")
    with StateFolder(seen).lock.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        idle = run("learn", "--once").out
        write_journal(seen / "journal", "new", [relay_line("new", 1, time.time()), end_line("new", 2, time.time())])
        busy = run("learn", "--once", "--json").data()

    assert idle.endswith("lessons from 3 tasks.\n")
    assert busy["done"] is False


def test_calls_are_kept_as_long_as_the_configuration_says_and_what_they_taught_outlives_them(
    run: Run, seen: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text('owner = "ann"\n[ledger]\ncalls_days = 0.1\n')

    assert run("calls", "--json").data() == []
    assert run("lessons", "--json").data() != []

    (tmp_path / "config.toml").write_text('owner = "ann"\n[ledger]\nevidence_days = 0.1\n')
    assert run("lessons", "--json").data() == []
