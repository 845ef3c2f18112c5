"""Takes journal records into the ledger, each exactly once: the rows and the file's new offset are one transaction."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, case, func, select, update
from sqlalchemy.dialects.sqlite import insert

from rearview.learn.model import CallRecord
from rearview.store import ledger_schema as db
from rearview.store.journal_records import (
    JournalRecord,
    RelayEnded,
    RelayStarted,
    ServerNamed,
    ServerRestarted,
    ToolsListed,
    Unreadable,
)
from rearview.store.ledger_rows import row_of, text_of


@dataclass(frozen=True, slots=True)
class Batch:
    """Some lines of one journal file, each with the offset behind it; the first begins at `before`."""

    file: str
    before: int
    lines: tuple[tuple[int, JournalRecord], ...]

    @property
    def after(self) -> int:
        """The offset behind the last line."""
        return self.lines[-1][0]

    @property
    def records(self) -> list[JournalRecord]:
        """The lines without their offsets."""
        return [record for _, record in self.lines]

    def singles(self) -> "list[Batch]":
        """Return the same lines as batches of one line."""
        befores = [self.before, *(after for after, _ in self.lines)]
        return [Batch(self.file, before, (line,)) for before, line in zip(befores, self.lines, strict=False)]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a batch brought that was new."""

    calls: int = 0
    repeated: int = 0
    unreadable: tuple[str, ...] = ()


def offsets(connection: Connection) -> dict[str, int]:
    """Return how far each journal file was read."""
    return {row.name: row.offset for row in connection.execute(select(db.files.c.name, db.files.c.offset))}


def forget_files(connection: Connection, names: Iterable[str]) -> None:
    """Drop the offsets of files that are no longer there."""
    for name in names:
        connection.execute(db.files.delete().where(db.files.c.name == name))


def take(connection: Connection, batch: Batch) -> Taken:
    """Write a batch. A file that stands elsewhere than at `before` was read by somebody else: nothing is written."""
    known = connection.scalar(select(db.files.c.offset).where(db.files.c.name == batch.file))
    if (known or 0) != batch.before:
        return Taken()
    records = batch.records
    calls = [each for each in records if isinstance(each, CallRecord)]
    unreadable = tuple(each.reason for each in records if isinstance(each, Unreadable))
    relay = ""
    for record in records:
        if not isinstance(record, Unreadable):
            relay = record.relay
        _take_side(connection, record)
    new = _take_calls(connection, calls)
    row = insert(db.files).values(name=batch.file, relay=relay, offset=batch.after, unreadable=len(unreadable))
    connection.execute(
        row.on_conflict_do_update(
            index_elements=["name"],
            set_={
                "offset": row.excluded.offset,
                "unreadable": db.files.c.unreadable + row.excluded.unreadable,
                "relay": case((row.excluded.relay != "", row.excluded.relay), else_=db.files.c.relay),
            },
        )
    )
    return Taken(new, len(calls) - new, unreadable)


def count(connection: Connection, owner: str, name: str, by: int = 1) -> None:
    """Add to one of the owner's counters."""
    row = insert(db.counters).values(owner=owner, name=name, value=by)
    connection.execute(
        row.on_conflict_do_update(index_elements=["owner", "name"], set_={"value": db.counters.c.value + by})
    )


def _take_calls(connection: Connection, calls: Sequence[CallRecord]) -> int:
    if not calls:
        return 0
    lives: dict[str, tuple[CallRecord, float]] = {}
    for call in calls:
        _, last = lives.get(call.relay, (call, call.at))
        lives[call.relay] = (call, max(last, call.at + call.ms / 1000))
    for call, last in lives.values():
        _ensure_relay(connection, call.relay, call.owner, call.client, call.server, call.at, last)
    before = connection.scalar(_TOTAL_CHANGES)
    connection.execute(insert(db.records).on_conflict_do_nothing(), [row_of(call) for call in calls])
    return int((connection.scalar(_TOTAL_CHANGES) or 0) - (before or 0))


_TOTAL_CHANGES = select(func.total_changes())


def _ensure_relay(
    connection: Connection, relay: str, owner: str, client: str, server: str, at: float, last: float
) -> None:
    row = insert(db.relays).values(id=relay, owner=owner, client=client, server=server, started=at, last_sign=last)
    connection.execute(
        row.on_conflict_do_update(
            index_elements=["id"], set_={"last_sign": func.max(db.relays.c.last_sign, row.excluded.last_sign)}
        )
    )


def _take_side(connection: Connection, record: JournalRecord) -> None:
    match record:
        case RelayStarted(relay, at, owner, client, server, env, pid, started):
            _ensure_relay(connection, relay, owner, client, server, started, at)
            _set_relay(connection, relay, env=text_of(env), pid=pid, started=started)
        case ServerNamed(relay=relay):
            _set_relay(
                connection, relay, server_version=record.server_version, client_name=record.client_name,
                client_version=record.client_version, modern=int(record.modern),
            )  # fmt: skip
        case ToolsListed():
            _take_tools(connection, record)
        case ServerRestarted(relay=relay):
            _set_relay(connection, relay, restarts=db.relays.c.restarts + 1)
        case RelayEnded(relay, at, dropped):
            _set_relay(connection, relay, ended_at=at, dropped=dropped)
        case CallRecord() | Unreadable():
            pass


def _set_relay(connection: Connection, relay: str, **values: object) -> None:
    connection.execute(update(db.relays).where(db.relays.c.id == relay).values(**values))


def _take_tools(connection: Connection, listed: ToolsListed) -> None:
    relay = connection.execute(
        select(db.relays.c.owner, db.relays.c.server_version).where(db.relays.c.id == listed.relay)
    ).first()
    if relay is None or not listed.tools:
        return
    rows = [
        {
            "owner": relay.owner,
            "server": listed.server,
            "server_version": relay.server_version,
            "tool": tool.name,
            "input_schema": json.dumps(tool.input_schema),
            "output_schema": int(tool.output_schema),
            "read_only": int(tool.read_only),
            "seen_at": listed.at,
        }
        for tool in listed.tools
    ]
    row = insert(db.tools)
    newer = {name: row.excluded[name] for name in ("input_schema", "output_schema", "read_only", "seen_at")}
    keys = ["owner", "server", "server_version", "tool"]
    connection.execute(
        row.on_conflict_do_update(index_elements=keys, set_=newer, where=row.excluded.seen_at >= db.tools.c.seen_at),
        rows,
    )
