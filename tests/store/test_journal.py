"""The journal under load, on a full disk, among others, and killed."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.store import journal as journal_module
from rearview.store.journal import Journal, Limits
from rearview.store.journal_file import JournalFile
from rearview.store.journal_reader import is_live, journal_files, journal_name, read_lines

DEADLINE_SECONDS = 20.0
_WRITES = """
import json, sys, time
from pathlib import Path
from rearview.store.journal import Journal, Limits
relay, count, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
journal = Journal(
    Path(sys.argv[1]), (relay, 1, 1.0), lambda item: json.dumps([relay, item, "x" * size]).encode(),
    report=lambda event, fields: print(event, flush=True), limits=Limits(max_file_bytes=200_000),
)
for number in range(count):
    journal.put(number, size)
    if number % 50 == 0:
        time.sleep(0.001)
print("put", flush=True)
sys.stdin.read(1)
journal.close(10.0, lambda dropped: "end")
print(journal.written, journal.dropped, flush=True)
"""


@dataclass
class Heard:
    """A report that remembers, and lets a test wait for the first event."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    any: Event = field(default_factory=Event)

    def __call__(self, event: str, fields: dict[str, Any]) -> None:
        self.events.append((event, fields))
        self.any.set()

    @property
    def names(self) -> list[str]:
        return [event for event, _ in self.events]


def encode(item: Any) -> bytes | None:
    return None if item is None else json.dumps(item).encode()


def journal_in(folder: Path, heard: Heard | None = None, **options: Any) -> Journal:
    options.setdefault("encode", encode)
    name = options.pop("name", ("relay", 1, 1.0))
    return Journal(folder, name, options.pop("encode"), report=heard or Heard(), **options)


def stored(folder: Path) -> list[Any]:
    return [json.loads(line) for path in journal_files(folder) for _, line in read_lines(path)]


def eventually(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.002)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file of this process outgrow `size`: what a full disk looks like to root, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "GATHER_SECONDS", 0.001)
    monkeypatch.setattr(journal_module, "RETRY_SECONDS", 0.01)


def test_what_is_put_is_read_back_between_the_opening_and_the_final_record(tmp_path: Path) -> None:
    journal = journal_in(tmp_path / "new", opening="opening")

    for number in range(3000):
        journal.put(number, 10)
    journal.close(DEADLINE_SECONDS, lambda dropped: {"dropped": dropped})

    assert stored(tmp_path / "new") == ["opening", *range(3000), {"dropped": 0}]
    assert (journal.offered, journal.written, journal.dropped, journal.errors) == (3000, 3000, 0, 0)
    assert [path.name for path in journal_files(tmp_path / "new")] == ["1000-1-relay.jsonl"]
    assert [oct(path.stat().st_mode & 0o777) for path in (tmp_path / "new").iterdir()] == ["0o600"]


def test_items_put_long_after_the_writer_fell_asleep_are_written(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)

    for number in range(5):
        journal.put(number, 10)
        eventually(lambda: journal.written == number + 1)  # noqa: B023 - it is waited for within this turn

    journal.close(DEADLINE_SECONDS)
    assert stored(tmp_path) == [0, 1, 2, 3, 4]


def test_a_journal_that_nothing_was_put_into_leaves_no_file(tmp_path: Path) -> None:
    journal_in(tmp_path, opening="opening").close(DEADLINE_SECONDS, lambda _: "end")

    assert list(tmp_path.iterdir()) == []


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.text(max_size=2000), st.integers().map(str)), max_size=60),
    st.integers(200, 20_000),
    st.integers(1, 40),
)
def test_lines_read_back_are_the_items_put_minus_those_dropped(items: list[Any], file_size: int, records: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, release = Path(name), Event()

        def held(item: Any) -> bytes | None:
            release.wait(DEADLINE_SECONDS)
            return encode(item)

        journal = journal_in(folder, encode=held, limits=Limits(max_file_bytes=file_size, queue_records=records))
        for item in items:
            journal.put(item, 100)
        release.set()
        journal.close(DEADLINE_SECONDS)

        empty = journal.offered - journal.dropped - journal.written
        read = stored(folder)
        assert (journal.offered, journal.written, journal.errors) == (len(items), len(read), 0)
        assert 0 <= empty <= items.count(None)
        left = iter(items)
        assert all(item in left for item in read), "not the items, or not in their order"


def test_a_full_queue_drops_counts_and_says_so_once(tmp_path: Path) -> None:
    release, heard = Event(), Heard()

    def held(item: Any) -> bytes | None:
        release.wait(DEADLINE_SECONDS)
        return encode(item)

    journal = journal_in(tmp_path, heard, encode=held, limits=Limits(queue_records=100))
    for number in range(1000):
        journal.put(number, 10)
    release.set()
    journal.close(DEADLINE_SECONDS, lambda dropped: {"dropped": dropped})

    assert journal.offered == journal.written + journal.dropped == 1000
    assert 0 < journal.written < 1000
    assert stored(tmp_path)[-1] == {"dropped": journal.dropped}
    assert heard.names == ["journal.queue_full"]


def test_only_while_the_queue_is_nearly_full_some_items_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release, started = Event(), Event()
    pauses: list[tuple[int, float]] = []

    def held(item: Any) -> bytes | None:
        started.set()
        release.wait(DEADLINE_SECONDS)
        return encode(item)

    journal = journal_in(tmp_path, Heard(), encode=held, limits=Limits(queue_records=400))
    journal.put(0, 10)
    assert started.wait(DEADLINE_SECONDS)
    with monkeypatch.context() as patched:
        # The writer is held, so only the thread that puts can sleep here.
        patched.setattr(journal_module.time, "sleep", lambda seconds: pauses.append((journal.offered, seconds)))
        for number in range(1, 390):
            journal.put(number, 10)
    release.set()
    journal.close(DEADLINE_SECONDS)

    assert [at for at, _ in pauses] == [304, 320, 336, 352, 368, 384]
    assert {seconds for _, seconds in pauses} == {journal_module.PAUSE_SECONDS}
    assert (journal.written, journal.dropped) == (390, 0)


def test_the_queue_is_limited_by_weight_too(tmp_path: Path) -> None:
    heard = Heard()
    journal = journal_in(tmp_path, heard, limits=Limits(queue_bytes=1000))

    journal.put("too heavy", 1001)
    journal.put("light", 10)
    journal.close(DEADLINE_SECONDS)

    assert (stored(tmp_path), journal.dropped, heard.names) == (["light"], 1, ["journal.queue_full"])


def test_an_item_that_can_not_be_encoded_is_dropped_alone(tmp_path: Path) -> None:
    heard = Heard()
    journal = journal_in(tmp_path, heard, encode=lambda item: b"a\nb" if item == "lines" else encode(item))

    for item in (1, {2}, "lines", 4):
        journal.put(item, 10)
    journal.close(DEADLINE_SECONDS)

    assert stored(tmp_path) == [1, 4]
    assert (journal.written, journal.dropped, journal.errors) == (2, 2, 2)
    assert heard.events == [("journal.encode_failed", {"error": "TypeError"})]


def test_files_are_rotated_in_order_and_each_begins_with_the_opening(tmp_path: Path) -> None:
    journal = journal_in(tmp_path, opening="opening", limits=Limits(max_file_bytes=1000))

    for number in range(6):
        journal.put([number, "x" * 999], 10)
        eventually(lambda: journal.written == number + 1)  # noqa: B023 - it is waited for within this turn
    files = journal_files(tmp_path)

    assert [path.name for path in files] == [journal_name("relay", 1, 1.0, part) for part in range(6)]
    assert [[json.loads(line) for _, line in read_lines(path)] for path in files] == [
        ["opening", [number, "x" * 999]] for number in range(6)
    ]
    assert [is_live(path) for path in files] == [False] * 5 + [True]
    journal.close(DEADLINE_SECONDS)
    assert not is_live(files[-1])


def test_a_folder_that_is_a_file_costs_the_records_and_says_so_once_until_it_is_repaired(tmp_path: Path) -> None:
    folder, heard = tmp_path / "journal", Heard()
    folder.write_text("")
    journal = journal_in(folder, heard)

    journal.put("lost", 10)
    eventually(lambda: journal.dropped == 1)
    journal.put("lost again", 10)
    eventually(lambda: journal.dropped == 2)
    folder.unlink()
    eventually(lambda: journal.put("kept", 10) or journal.written > 0)  # type: ignore[func-returns-value]
    journal.close(DEADLINE_SECONDS)

    assert set(stored(folder)) == {"kept"}
    assert journal.offered == journal.written + journal.dropped
    assert heard.names == ["journal.unwritable"]


def test_a_folder_that_vanishes_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    journal = journal_in(folder, opening="opening")
    journal.put("before", 10)
    eventually(lambda: journal.written == 1)

    for path in journal_files(folder):
        path.unlink()
    folder.rmdir()
    journal.put("after", 10)
    journal.close(DEADLINE_SECONDS)

    assert (stored(folder), journal.written, journal.dropped) == (["opening", "after"], 2, 0)


def test_a_line_that_a_full_disk_cut_is_the_only_one_lost_and_its_file_ends_there(tmp_path: Path) -> None:
    file = JournalFile(tmp_path, ("relay", 1, 1.0), 10**6, 10**6, lambda: None)
    lines = [b"%04d" % number for number in range(10)]

    with file_size_limit(23), pytest.raises(OSError, match="File too large"):
        file.append(lines)
    written = file.written
    file.append(lines[written:])
    file.close()

    assert written == 4
    assert [[line for _, line in read_lines(path)] for path in journal_files(tmp_path)] == [lines[:4], lines[4:]]


def test_after_a_torn_line_the_next_one_starts_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = JournalFile(tmp_path, ("relay", 1, 1.0), 10**6, 10**6, lambda: None)
    file.append([b"first"])
    real, room = os.write, [3, 0]

    def full_disk(handle: int, data: bytes) -> int:
        if not room:
            return real(handle, data)
        if not (left := room.pop(0)):
            raise OSError(28, "No space left on device")
        return real(handle, data[:left])

    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(OSError, match="No space"):
        file.append([b"second", b"third"])
    file.append([b"second", b"third"])

    assert file.written == 3
    assert [line for _, line in read_lines(journal_files(tmp_path)[0])] == [b"first", b"sec", b"second", b"third"]


def test_a_disk_that_is_full_for_a_while_costs_what_came_meanwhile(tmp_path: Path) -> None:
    heard = Heard()
    journal = journal_in(tmp_path, heard)
    journal.put("x" * 100, 10)
    eventually(lambda: journal.written == 1)

    with file_size_limit(0):
        journal.put("lost", 10)
        eventually(lambda: journal.dropped == 1)
    eventually(lambda: journal.put("kept", 10) or journal.written > 1)  # type: ignore[func-returns-value]
    journal.close(DEADLINE_SECONDS)

    assert set(stored(tmp_path)) == {"x" * 100, "kept"}
    assert journal.offered == journal.written + journal.dropped
    assert heard.names == ["journal.unwritable"]


def test_the_oldest_finished_files_make_room_and_live_ones_never_do(tmp_path: Path) -> None:
    other = journal_in(tmp_path, name=("live", 1, 0.001))
    other.put("x" * 4000, 10)
    eventually(lambda: other.written == 1)
    for number in range(4):
        (tmp_path / journal_name("dead", number, 0.002, 0)).write_bytes(b"x" * 3999 + b"\n")

    journal = journal_in(tmp_path, limits=Limits(max_total_bytes=12_800))
    journal.put("new", 10)
    journal.close(DEADLINE_SECONDS)

    assert [path.name for path in journal_files(tmp_path)] == [
        "1-1-live.jsonl",
        "2-2-dead.jsonl",
        "2-3-dead.jsonl",
        "1000-1-relay.jsonl",
    ]
    other.close(DEADLINE_SECONDS)


def test_a_folder_full_of_live_files_costs_records_until_there_is_room(tmp_path: Path) -> None:
    heard = Heard()
    other = journal_in(tmp_path, name=("live", 1, 0.001))
    other.put("x" * 4000, 10)
    eventually(lambda: other.written == 1)
    journal = journal_in(tmp_path, heard, limits=Limits(max_total_bytes=2000))

    journal.put("lost", 10)
    eventually(lambda: journal.dropped == 1)
    other.close(DEADLINE_SECONDS)
    eventually(lambda: journal.put("kept", 10) or journal.written > 0)  # type: ignore[func-returns-value]
    journal.close(DEADLINE_SECONDS)

    assert set(stored(tmp_path)) == {"kept"}
    assert heard.names == ["journal.folder_full"]


def test_one_relay_alone_keeps_to_the_total_size(tmp_path: Path) -> None:
    limits = Limits(max_file_bytes=20_000, max_total_bytes=100_000)
    journal = journal_in(tmp_path, limits=limits)

    for number in range(60):
        journal.put([number, "x" * 10_000], 10)
        eventually(lambda: journal.written == number + 1)  # noqa: B023 - it is waited for within this turn
        assert sum(path.stat().st_size for path in journal_files(tmp_path)) <= 120_000
    journal.close(DEADLINE_SECONDS)

    assert stored(tmp_path)[-1][0] == 59


def test_finished_files_older_than_the_retention_are_deleted_at_the_start(tmp_path: Path) -> None:
    for name, age_days in (("old", 8), ("young", 6)):
        path = tmp_path / journal_name(name, 1, 0.001, 0)
        path.write_bytes(b"{}\n")
        then = time.time() - age_days * 86_400
        os.utime(path, (then, then))
    (tmp_path / "notes.txt").write_text("not a journal")

    journal = journal_in(tmp_path, limits=Limits(retention_days=7))
    journal.put("new", 10)
    journal.close(DEADLINE_SECONDS)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["1-1-young.jsonl", "1000-1-relay.jsonl", "notes.txt"]


def test_closing_keeps_to_its_deadline_and_counts_what_is_left(tmp_path: Path) -> None:
    release = Event()

    def stuck(item: Any) -> bytes | None:
        if item != "end":
            release.wait(DEADLINE_SECONDS)
        return encode(item)

    journal = journal_in(tmp_path, encode=stuck)
    for number in range(100_000 // 100):
        journal.put([number, "x" * 100_000], 10)
    journal.close(0.05, lambda _: "end")
    assert journal.written == 0

    release.set()
    eventually(lambda: bool(journal_files(tmp_path)) and not is_live(journal_files(tmp_path)[0]))
    assert journal.offered == journal.written + journal.dropped
    assert stored(tmp_path)[-1] == "end"


def test_what_is_put_after_closing_is_dropped(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.put(1, 10)
    journal.close(DEADLINE_SECONDS)

    journal.put(2, 10)

    assert (stored(tmp_path), journal.offered, journal.dropped) == ([1], 2, 1)


def test_a_report_that_fails_disturbs_nobody(tmp_path: Path) -> None:
    def report(event: str, fields: dict[str, Any]) -> None:
        raise OSError(event, fields)

    journal = Journal(tmp_path, ("relay", 1, 1.0), encode, report=report, limits=Limits(queue_records=2))
    for item in ({1}, 2, 3, 4, 5, 6):
        journal.put(item, 10)
    journal.close(DEADLINE_SECONDS)

    assert journal.offered == journal.written + journal.dropped


def start_writer(folder: Path, relay: str, count: int, size: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", _WRITES, str(folder), relay, str(count), str(size)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_a_killed_process_loses_its_tail_only(tmp_path: Path) -> None:
    for turn in range(5):
        folder = tmp_path / str(turn)
        process = start_writer(folder, "victim", 1_000_000, 500)
        eventually(lambda: sum(path.stat().st_size for path in journal_files(folder)) > 30_000 * (turn + 1))  # noqa: B023
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=DEADLINE_SECONDS)

        read = stored(folder)

        assert [number for _, number, _ in read] == list(range(len(read)))
        assert not any(is_live(path) for path in journal_files(folder))


def test_eight_processes_write_into_one_folder(tmp_path: Path) -> None:
    processes = [start_writer(tmp_path, f"relay{number}", 2000, 100) for number in range(8)]

    said = [process.communicate(b"c", timeout=DEADLINE_SECONDS * 2)[0] for process in processes]

    read = stored(tmp_path)
    assert said == [b"put\n2000 0\n"] * 8
    for number in range(8):
        mine = [item for relay, item, _ in read if relay == f"relay{number}"]
        assert mine == [*range(2000), "end"]
