"""The ledger: everything once, and each owner alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect

from fixtures.journals import OWNER, call_line, failed_line, line, relay_line
from rearview.errors import StoreError
from rearview.learn.model import ToolSchema
from rearview.learn.segment import trajectory_of
from rearview.store import ledger_hindsight, ledger_intake, ledger_retention
from rearview.store import ledger_schema as db
from rearview.store.journal_records import record_of
from rearview.store.ledger import Ledger, open_ledger
from rearview.store.ledger_file import open_engine
from rearview.store.ledger_hindsight import Scope
from rearview.store.ledger_intake import Batch, Taken
from rearview.store.ledger_reading import Counts, SaidCount
from rearview.store.state import StateFolder, open_state

NOW = 1_700_000_000.0


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return open_state(tmp_path / "state")


@pytest.fixture
def ledger(state: StateFolder) -> Iterator[Ledger]:
    opened = open_ledger(state, clock=lambda: NOW)
    yield opened
    opened.close()


def batch(*lines: bytes, before: int = 0, file: str = "1-1-r1.jsonl") -> Batch:
    taken, offset = [], before
    for each in lines:
        offset += len(each)
        taken.append((offset, record_of(each)))
    return Batch(file, before, tuple(taken))


def take(ledger: Ledger, *lines: bytes, before: int = 0, file: str = "1-1-r1.jsonl") -> Taken:
    with ledger.writing() as connection:
        return ledger_intake.take(connection, batch(*lines, before=before, file=file))


def learn(ledger: Ledger, owner: str = OWNER) -> None:
    """Close everything that waits as one trajectory."""
    with ledger.writing() as connection:
        marks = [mark for mark in ledger_hindsight.marks(connection) if mark.owner == owner]
        trajectory = trajectory_of(ledger_hindsight.calls_at(connection, sorted(marks, key=lambda mark: mark.at)))
        ledger_hindsight.close(connection, trajectory, trajectory.trace_id, NOW)


def test_a_batch_that_comes_twice_is_taken_once(ledger: Ledger) -> None:
    lines = (relay_line("r1", 1, NOW), call_line("r1", 2, NOW), b"{}\n", call_line("r1", 3, NOW))

    first, second = take(ledger, *lines), take(ledger, *lines)
    elsewhere = take(ledger, *lines, file="1-1-r1.1.jsonl")

    assert first == Taken(2, 0, ("a journal version that this one does not know",))
    assert (second, elsewhere.calls, elsewhere.repeated) == (Taken(), 0, 2)
    assert len(ledger.recent_calls(OWNER)) == 2


def test_a_transaction_that_fails_leaves_neither_rows_nor_offset(ledger: Ledger) -> None:
    def stumble() -> None:
        with ledger.writing() as connection:
            ledger_intake.take(connection, batch(relay_line("r1", 1, NOW), call_line("r1", 2, NOW)))
            raise LookupError

    with pytest.raises(LookupError):
        stumble()

    with ledger.reading() as connection:
        assert ledger_intake.offsets(connection) == {}
    assert ledger.recent_calls(OWNER) == []


def test_a_call_comes_back_from_the_ledger_as_it_was_journaled(ledger: Ledger) -> None:
    odd = {"n": 10**30, "s": "\ud800 文件", "deep": [{"a": None}]}
    written = failed_line("r1", 2, NOW, arguments=odd, said={"channel": "hint", "lesson": "ab"}, task_ref="codex:1")

    take(ledger, relay_line("r1", 1, NOW), written)

    assert ledger.recent_calls(OWNER) == [record_of(written)]


def test_tables_are_those_that_queries_name(state: StateFolder) -> None:
    engine = open_engine(state.ledger)
    found = inspect(engine)

    made = {name: sorted(column["name"] for column in found.get_columns(name)) for name in found.get_table_names()}

    expected = {name: sorted(table.columns.keys()) for name, table in db.metadata.tables.items()}
    assert made == expected | {"schema_version": ["version"]}
    engine.dispose()


def test_only_the_learner_moves_a_damaged_ledger_and_a_command_says_what_to_do(state: StateFolder) -> None:
    state.ledger.write_bytes(b"x" * 5000)

    with pytest.raises(StoreError, match="is damaged: the learner moves it aside"):
        open_ledger(state)

    assert state.ledger.read_bytes() == b"x" * 5000


def test_damage_that_happens_while_the_ledger_is_open_is_noticed(ledger: Ledger) -> None:
    take(ledger, relay_line("r1", 1, NOW), *(call_line("r1", seq, NOW) for seq in range(2, 500)))
    assert ledger.healthy() == ""
    ledger.close()

    size = ledger.path.stat().st_size
    with ledger.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))

    assert "damaged" in ledger.healthy()


def test_the_ledger_is_private(ledger: Ledger, state: StateFolder) -> None:
    take(ledger, relay_line("r1", 1, NOW))

    assert {path.stat().st_mode & 0o777 for path in state.root.glob("ledger.sqlite3*")} == {0o600}


def test_counts_cover_one_owner_alone(ledger: Ledger) -> None:
    held = {"channel": "hold", "lesson": "ab"}
    steps = [
        failed_line("r1", 2, NOW),
        call_line("r1", 3, NOW + 1, grade="unknown", said=held),
        call_line("r1", 4, NOW + 2),
        call_line("r1", 5, NOW + 3, owner="bob"),
        line("end", "r1", 6, NOW + 4, dropped=7),
    ]
    take(ledger, relay_line("r1", 1, NOW), *steps)

    learn(ledger)

    assert ledger.counts(OWNER) == Counts(
        calls=3,
        by_grade={"flagged": 1, "ok": 1, "unknown": 1},
        by_kind={"argument": 1},
        waiting=0,
        trajectories=1,
        trajectories_failed=0,
        lessons={},
        conditions=0,
        said={"hold": SaidCount(times=1, changed=1, succeeded=1)},
        saved=1,
        dropped=7,
    )
    assert ledger.counts("bob").waiting == 1


def test_recent_calls_come_newest_first_and_can_be_narrowed(ledger: Ledger) -> None:
    other = {"server": "web"}
    take(ledger, relay_line("r1", 1, NOW), failed_line("r1", 2, NOW), call_line("r1", 3, NOW + 1))
    take(ledger, failed_line("r2", 1, NOW + 2, **other), call_line("r2", 2, NOW + 3, owner="bob"), file="1-1-r2.jsonl")

    def seen(**narrowed: Any) -> list[tuple[str, int]]:
        return [(call.relay, call.seq) for call in ledger.recent_calls(OWNER, **narrowed)]

    assert seen() == [("r2", 1), ("r1", 3), ("r1", 2)]
    assert seen(limit=1) == [("r2", 1)]
    assert seen(server="files") == [("r1", 3), ("r1", 2)]
    assert seen(failed_only=True) == [("r2", 1), ("r1", 2)]


def test_the_newest_schema_of_a_tool_counts(ledger: Ledger) -> None:
    def listed(seq: int, at: float, kind: str) -> bytes:
        tools = [{"name": "read", "input_schema": {"type": kind}, "output_schema": True, "read_only": True}]
        return line("tools", "r1", seq, at, server="files", tools=tools)

    named = line("server", "r1", 3, NOW + 1, server="files", server_version="2.0")
    take(ledger, relay_line("r1", 1, NOW), listed(2, NOW, "object"), named, listed(4, NOW + 2, "array"))

    with ledger.reading() as connection:
        found = ledger_hindsight.schemas(connection, OWNER, [("files", "read"), ("files", "none")])
        other = ledger_hindsight.schemas(connection, "bob", [("files", "read")])

    assert found == {("files", "read"): ToolSchema("read", {"type": "array"}, output_schema=True, read_only=True)}
    assert other == {}


def test_old_calls_go_and_calls_that_were_never_learned_and_evidence_stay(ledger: Ledger) -> None:
    take(ledger, relay_line("r1", 1, NOW), failed_line("r1", 2, NOW), call_line("r1", 3, NOW, owner="bob"))
    learn(ledger)
    with ledger.writing() as connection:
        rows = {Scope(OWNER, "files", "read", "", str(number)): (NOW + number, "{}") for number in range(3)}
        ledger_hindsight.put_bodies(connection, db.evidence, rows)

    with ledger.writing() as connection:
        later = NOW + 91 * ledger_retention.DAY_SECONDS
        gone = ledger_retention.prune(connection, later, ledger_retention.Limits(conditions=2))

    assert gone == {"records": 1, "trajectories": 1, "evidence": 1}
    assert (ledger.counts(OWNER).conditions, ledger.counts("bob").waiting) == (2, 1)
