"""The demo is a self-test of the whole: relay, learner, warning."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rearview.demo.client import Answer
from rearview.demo.story import Fate, Move, Step


def demo(*options: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REARVIEW_", "XDG_"))}
    command = [sys.executable, "-m", "mcp_rearview", "demo", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**kept, **environ}, timeout=60)


@pytest.fixture(scope="module")
def played() -> Any:
    done = demo("--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_three_tasks_make_their_mistakes_at_the_server(played: Any) -> None:
    fates = {
        task: [step["fate"] for step in played["steps"] if step["task"] == task and step["tool"] != "list_rooms"]
        for task in (1, 2, 3)
    }

    assert fates == dict.fromkeys((1, 2, 3), ["fails", "works"] * 3)


def test_the_fourth_is_held_before_the_server_and_its_corrected_and_repeated_calls_pass(played: Any) -> None:
    fourth = [(step["what"], step["fate"], step["reached_server"]) for step in played["steps"] if step["task"] == 4]

    assert fourth == [
        ("look around", "works", True),
        ("the same mistake, a new date", "held", False),
        ("corrected", "works", True),
        ("the same mistake, a new file", "held", False),
        ("repeated unchanged, so it runs", "fails", True),
        ("the same mistake, a new path", "held", False),
        ("corrected", "works", True),
        ("a call that never failed", "works", True),
    ]


def test_each_warning_names_the_remedy_in_this_call_s_own_values(played: Any) -> None:
    held = {step["tool"]: step["text"] for step in played["steps"] if step["fate"] == "held"}

    assert "2027-04-30" in held["book_room"]
    assert "path" in held["append_note"]
    assert "plans/party.md" in held["read_file"]
    assert max(len(text.split()) for text in held.values()) <= 60


def test_what_was_learned_holds_calls_of_the_three_tools_and_of_no_other(played: Any) -> None:
    loud = {lesson["tool"] for lesson in played["lessons"] if lesson["loud"]}

    assert (played["passed"], loud) == (True, {"append_note", "book_room", "read_file"})


def test_people_read_the_very_words_and_the_user_s_settings_do_not_reach_it(tmp_path: Path) -> None:
    hostile = tmp_path / ".rearview.toml"
    hostile.write_text("[warn]\nmode = 'observe'\n")

    done = demo(HOME=str(tmp_path), REARVIEW_DISABLE="1", REARVIEW_STATE_DIR=str(tmp_path / "untouched"))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "what the agent reads in place of a failure" in done.stdout
    assert "Next: put `mcp-rearview wrap --`" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [".rearview.toml"]


def test_a_step_counts_as_expected_only_if_the_server_saw_what_it_should() -> None:
    move = Move("", "read_file", {}, Fate.WORKS)
    good = Answer(failed=False, text="")

    steps = [Step(1, move, good, reached=True), Step(1, move, good, reached=False)]

    assert [step.as_expected for step in steps] == [True, False]
