"""`mcp-rearview demo`: plays the demo's story on a real relay in a folder that is gone afterwards."""

import argparse
import os
import secrets
import shutil
import string
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rearview.cli.context import Context
from rearview.cli.lesson_words import condition_words
from rearview.cli.render import Output, one_line
from rearview.config import load
from rearview.demo.client import Client
from rearview.demo.story import DAYS, Fate, Step, play, prepare
from rearview.errors import PeerError
from rearview.store.state import StateFolder, open_state

SUMMARY = "show what Rearview does, without a client, a network or anything to set up"
EXAMPLES = """\
  mcp-rearview demo             watch it: three tasks with the same mistakes, then a fourth that is warned
  mcp-rearview demo --json      the same as data; the exit code is 1 if anything went otherwise than it should
"""

# Nothing is left to chance (no control group) and nothing goes on in the background.
CONFIG = """\
[warn]
control_share = 0.0
locale = "en"
[learner]
enabled = false
"""
MARKS = {Fate.WORKS: ("ok  ", "green"), Fate.FAILS: ("fail", "red"), Fate.HELD: ("HELD", "bold yellow")}
SHOWN_CHARS = 100
LAST_WORDS_CHARS = 1000


class Stage(NamedTuple):
    """The folders and files of one performance."""

    folder: Path

    @property
    def office(self) -> Path:
        """What the demo server may touch."""
        return self.folder / "office"

    @property
    def log(self) -> Path:
        """The calls that reached the demo server."""
        return self.folder / "calls.jsonl"

    @property
    def state(self) -> Path:
        """The state folder of this performance alone."""
        return self.folder / "state"

    @property
    def stderr(self) -> Path:
        """What relays and servers said on standard error; shown only if the story breaks off."""
        return self.folder / "stderr.log"

    @property
    def config(self) -> Path:
        """The configuration of this performance alone."""
        return self.folder / "config.toml"


def fill(parser: argparse.ArgumentParser) -> None:
    """It takes nothing of its own."""


def run(context: Context, options: argparse.Namespace) -> int:  # noqa: ARG001 - every command is called with both
    """Play; 1 if a call ended otherwise than the story has it, or too little was learned."""
    started = time.monotonic()
    output = context.output
    with _stage() as stage:
        stage.config.write_text(CONFIG, encoding="utf-8")
        prepare(stage.office)
        steps = _perform(output, stage)
        lessons = _learn(stage)
    passed = all(step.as_expected for step in steps) and _learned_enough(lessons)
    seconds = round(time.monotonic() - started, 1)
    if output.as_json:
        told = [_as_data(step) for step in steps]
        output.data({"passed": passed, "seconds": seconds, "steps": told, "lessons": lessons})
    else:
        _conclude(output, steps, lessons, passed=passed, seconds=seconds)
    return 0 if passed else 1


def _perform(output: Output, stage: Stage) -> Sequence[Step]:
    with stage.stderr.open("wb") as stderr:
        start = partial(Client, _command(stage), _environ(stage), stage.folder, stderr)
        try:
            return play(start, stage.office, stage.log, partial(_learn, stage), partial(_tell, output, stage))
        except PeerError as error:
            message = f"{error}; it said: {_last_words(stage)}"
            raise PeerError(message) from error


@contextmanager
def _stage() -> Iterator[Stage]:
    # Letters only: a remedy shows the path, and is put into words if a part of it could be read as a sentence.
    name = "".join(secrets.choice(string.ascii_lowercase) for _ in range(12))
    folder = Path(tempfile.gettempdir(), f"rearview-{name}").resolve()
    folder.mkdir(mode=0o700)
    try:
        yield Stage(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _command(stage: Stage) -> list[str]:
    server = [sys.executable, "-m", "rearview.demo.server", str(stage.office), str(stage.log)]
    wrap = [sys.executable, "-m", "mcp_rearview", "wrap", "--name", "office", "--config", str(stage.config)]
    return [*wrap, "--", *server]


def _environ(stage: Stage) -> dict[str, str]:
    # What the user has set for their own relays (switched off, another folder) must not reach this one.
    rest = {name: value for name, value in os.environ.items() if not name.startswith("REARVIEW_")}
    return {**rest, "REARVIEW_STATE_DIR": str(stage.state)}


def _learn(stage: Stage) -> list[dict[str, Any]]:
    """Learn from the sessions so far and return what is known now."""
    from rearview.learner import catch_up  # SQLAlchemy takes a third of a second; the first relay starts meanwhile
    from rearview.store.ledger import open_ledger

    config = load(stage.config, None, os.environ)
    state: StateFolder = open_state(stage.state)
    catch_up(state, config, all_ended=True)
    ledger = open_ledger(state)
    try:
        views = ledger.lessons(config.owner)
    finally:
        ledger.close()
    return [
        {
            "tool": view.scoped.tool, "what": condition_words(view.scoped.lesson), "loud": view.scoped.lesson.loud,
            "failed": view.scoped.lesson.failed, "met": view.scoped.lesson.met,
        }
        for view in views
    ]  # fmt: skip


def _last_words(stage: Stage) -> str:
    words = one_line(stage.stderr.read_text("utf-8", "replace"), LAST_WORDS_CHARS)
    return words or "nothing; this is a bug in Rearview, please report it"


def _learned_enough(lessons: Sequence[Mapping[str, Any]]) -> bool:
    return {lesson["tool"] for lesson in lessons if lesson["loud"]} == {"book_room", "append_note", "read_file"}


def _tell(output: Output, stage: Stage, step: Step) -> None:
    if output.as_json:
        return
    if step.move.tool == "list_rooms" and step.move.what == "look around":
        last = step.task == len(DAYS) + 1
        output.line()
        output.line(
            f"Task {step.task}: {'Rearview has learned meanwhile' if last else 'Rearview only watches'}", "bold"
        )
    word, style = MARKS[step.fate]
    arguments = ", ".join(f"{name}={_near(stage, str(value))}" for name, value in step.move.arguments.items())
    output.line(f"  {word}  {step.move.tool}({arguments})  - {step.move.what}", style)
    if step.fate is Fate.HELD:
        output.panel("what the agent reads in place of a failure", _near(stage, step.answer.text))
    elif step.fate is Fate.FAILS:
        output.line(f"        {one_line(_near(stage, step.answer.text), SHOWN_CHARS)}", "dim")
    if not step.as_expected:
        output.line(f"        NOT AS EXPECTED: this call should have been one that {_should(step)}", "bold red")


def _should(step: Step) -> str:
    return "is held before the server sees it" if step.move.expected is Fate.HELD else step.move.expected.value


def _near(stage: Stage, text: str) -> str:
    """The text with the long name of the temporary folder taken out; only for the eye."""
    return text.replace(str(stage.folder), "/…")


def _as_data(step: Step) -> dict[str, Any]:
    return {
        "task": step.task, "what": step.move.what, "tool": step.move.tool, "arguments": dict(step.move.arguments),
        "fate": step.fate.value, "expected": step.move.expected.value, "as_expected": step.as_expected,
        "reached_server": step.reached, "text": step.answer.text,
    }  # fmt: skip


def _conclude(
    output: Output, steps: Sequence[Step], lessons: Sequence[Mapping[str, Any]], *, passed: bool, seconds: float
) -> None:
    output.line()
    general = [lesson for lesson in lessons if lesson["failed"] >= len(DAYS)]
    rows = [
        (lesson["tool"], lesson["what"], f"{lesson['failed']} of {lesson['met']} tasks",
         "holds the call" if lesson["loud"] else "advice")
        for lesson in general
    ]  # fmt: skip
    output.table(("tool", "what fails", "failed in", "voice"), rows, title="What was learned")
    output.line(f"and {len(lessons) - len(general)} lessons about one call alone.")
    held = sum(step.fate is Fate.HELD for step in steps)
    output.line(f"{len(steps)} calls, {held} held before they failed, {seconds} s. Nothing was kept.")
    if passed:
        output.line(
            "Next: put `mcp-rearview wrap --` before a server's command in your client's configuration.", "green"
        )
    else:
        output.line("Something went otherwise than it should: this is a bug in Rearview, please report it.", "bold red")
