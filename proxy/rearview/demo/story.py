"""The demo's plot: three tasks with the same kinds of mistake, then a fourth in which Rearview knows them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from rearview.demo.client import Answer, Client


class Fate(StrEnum):
    """What becomes of a call."""

    WORKS = "works"
    FAILS = "fails"
    HELD = "held"


class Move(NamedTuple):
    """One call of the script and what should become of it."""

    what: str
    tool: str
    arguments: Mapping[str, Any]
    expected: Fate


class Step(NamedTuple):
    """A call that was made: what the agent saw, and whether the server saw the call."""

    task: int
    move: Move
    answer: Answer
    reached: bool

    @property
    def fate(self) -> Fate:
        """What became of the call, by what is seen from outside of the relay."""
        if not self.answer.failed:
            return Fate.WORKS
        return Fate.FAILS if self.reached else Fate.HELD

    @property
    def as_expected(self) -> bool:
        """Whether the story went on as it should; a good answer without the server is wrong, too."""
        return self.fate is self.move.expected and self.reached is (self.move.expected is not Fate.HELD)


class Day(NamedTuple):
    """The values that one task uses; no two tasks share one."""

    room: str
    date: str
    iso_date: str
    file: str
    text: str


DAYS = (
    Day("Blue", "24.12.2026", "2026-12-24", "notes/monday.md", "call the caterer"),
    Day("Green", "05.01.2027", "2027-01-05", "notes/budget.md", "ask for three offers"),
    Day("Garden", "17.02.2027", "2027-02-17", "plans/summer.md", "plant the roses"),
)
LAST_DAY = Day("Blue", "30.04.2027", "2027-04-30", "plans/party.md", "order a cake")


def prepare(root: Path) -> None:
    """Make the files of the office."""
    for day in (*DAYS, LAST_DAY):
        file = root / day.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {file.stem}\n", encoding="utf-8")


def play(
    start: Callable[[], Client], root: Path, log: Path, learn: Callable[[], object], tell: Callable[[Step], None]
) -> Sequence[Step]:
    """Play all four tasks, each in a session of its own; `learn` is called when three are over.

    Raises:
        PeerError: a session broke off.
    """
    steps: list[Step] = []
    scripts = [*(list(_clumsy(root, day)) for day in DAYS), list(_warned(root, LAST_DAY))]
    for task, script in enumerate(scripts, start=1):
        if task == len(scripts):
            learn()
        with start() as client:
            for move in script:
                before = _calls(log)
                answer = client.call(move.tool, move.arguments)
                step = Step(task, move, answer, reached=_calls(log) > before)
                steps.append(step)
                tell(step)
    return steps


def _clumsy(root: Path, day: Day) -> Iterator[Move]:
    path = str(root / day.file)
    yield Move("look around", "list_rooms", {}, Fate.WORKS)
    yield Move("a date in the wrong form", "book_room", {"room": day.room, "date": day.date}, Fate.FAILS)
    yield Move("in the right form", "book_room", {"room": day.room, "date": day.iso_date}, Fate.WORKS)
    yield Move("`file` in place of `path`", "append_note", {"file": path, "text": day.text}, Fate.FAILS)
    yield Move("`path`", "append_note", {"path": path, "text": day.text}, Fate.WORKS)
    yield Move("a relative path", "read_file", {"path": day.file}, Fate.FAILS)
    yield Move("an absolute path", "read_file", {"path": path}, Fate.WORKS)


def _warned(root: Path, day: Day) -> Iterator[Move]:
    path = str(root / day.file)
    yield Move("look around", "list_rooms", {}, Fate.WORKS)
    yield Move("the same mistake, a new date", "book_room", {"room": day.room, "date": day.date}, Fate.HELD)
    yield Move("corrected", "book_room", {"room": day.room, "date": day.iso_date}, Fate.WORKS)
    yield Move("the same mistake, a new file", "append_note", {"file": path, "text": day.text}, Fate.HELD)
    yield Move("repeated unchanged, so it runs", "append_note", {"file": path, "text": day.text}, Fate.FAILS)
    yield Move("the same mistake, a new path", "read_file", {"path": day.file}, Fate.HELD)
    yield Move("corrected", "read_file", {"path": path}, Fate.WORKS)
    yield Move("a call that never failed", "list_rooms", {}, Fate.WORKS)


def _calls(log: Path) -> int:
    # The server writes the line before it answers, so that whoever has the answer can count it.
    return log.read_bytes().count(b"\n") if log.exists() else 0
