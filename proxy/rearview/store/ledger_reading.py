"""What commands ask the ledger: recent calls, and how much of everything there is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, exists, func, select

from rearview.learn.model import CallRecord
from rearview.store import ledger_schema as db
from rearview.store.ledger_rows import call_of
from rearview_interceptors.api import FAILED

# SQLite takes at least 999 parameters in a query.
_DIGESTS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class SaidCount:
    """How often a channel was used, how often the agent then changed its call, and how often that call worked."""

    times: int
    changed: int
    succeeded: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What there is of one owner. `said` and `saved` count what belongs to tasks that are over.

    `saved` are the held calls that the agent changed, that then worked, and that did not work as they were later on.
    """

    calls: int
    by_grade: Mapping[str, int]
    by_kind: Mapping[str, int]
    waiting: int
    trajectories: int
    trajectories_failed: int
    lessons: Mapping[str, int]
    conditions: int
    said: Mapping[str, SaidCount]
    saved: int
    dropped: int


def recent_calls(
    connection: Connection, owner: str, limit: int, server: str | None = None, *, failed_only: bool = False
) -> list[CallRecord]:
    """Return the owner's last calls, the newest first."""
    rows = db.records.c
    query = select(db.records).where(rows.owner == owner)
    if server is not None:
        query = query.where(rows.server == server)
    if failed_only:
        query = query.where(rows.grade.in_([grade.value for grade in FAILED]))
    ordered = query.order_by(rows.at.desc(), rows.relay, rows.seq.desc()).limit(limit)
    return [call_of(row) for row in connection.execute(ordered)]


def arguments_of(connection: Connection, owner: str, digests: Sequence[str]) -> dict[str, str]:
    """Return by digest the arguments, as JSON text, of those of these calls that are still kept."""
    rows = db.records.c
    found = {}
    for start in range(0, len(digests), _DIGESTS_AT_ONCE):
        some = rows.digest.in_(digests[start : start + _DIGESTS_AT_ONCE])
        for row in connection.execute(select(rows.digest, rows.arguments).where(rows.owner == owner, some)):
            found[row.digest] = row.arguments
    return found


def servers(connection: Connection, owner: str) -> list[str]:
    """Return the names of the servers that there are calls of."""
    rows = db.records.c
    return sorted(connection.scalars(select(rows.server).where(rows.owner == owner).distinct()))


def counts(connection: Connection, owner: str) -> Counts:
    """Count what there is of one owner."""
    rows, said = db.records.c, db.said.c
    grades = _tally(connection, rows.grade, rows.owner == owner)
    trajectories = _tally(connection, db.trajectories.c.state, db.trajectories.c.owner == owner)
    spoken = connection.execute(
        select(said.channel, func.count(), func.sum(said.changed), func.sum(said.succeeded))
        .where(said.owner == owner)
        .group_by(said.channel)
    )
    waiting = select(func.count()).select_from(db.records).where(rows.owner == owner, rows.trace_id.is_(None))
    evidence = select(func.count()).select_from(db.evidence).where(db.evidence.c.owner == owner)
    dropped = select(func.sum(db.relays.c.dropped)).where(db.relays.c.owner == owner)
    return Counts(
        calls=sum(grades.values()),
        by_grade=grades,
        by_kind=_tally(connection, rows.kind, (rows.owner == owner) & rows.kind.is_not(None)),
        waiting=connection.scalar(waiting) or 0,
        trajectories=trajectories.get("learned", 0),
        trajectories_failed=trajectories.get("failed", 0),
        lessons=_tally(connection, db.lessons.c.state, db.lessons.c.owner == owner),
        conditions=connection.scalar(evidence) or 0,
        said={channel: SaidCount(times, changed or 0, good or 0) for channel, times, changed, good in spoken},
        saved=_saved(connection, owner),
        dropped=connection.scalar(dropped) or 0,
    )


def _saved(connection: Connection, owner: str) -> int:
    held, again = db.said.alias(), db.said.alias()
    same = [again.c[name] == held.c[name] for name in ("owner", "trace_id", "server", "tool", "lesson")]
    # One thing is said once in a task, so the lesson tells which held call was repeated.
    worked_unchanged = exists().where(*same, again.c.channel == "repeat", again.c.succeeded == 1)
    heeded = (held.c.owner == owner, held.c.channel == "hold", held.c.changed == 1, held.c.succeeded == 1)
    return connection.scalar(select(func.count()).select_from(held).where(*heeded, ~worked_unchanged)) or 0


def unreadable_lines(connection: Connection) -> int:
    """Return how many lines of journals still known could not be read."""
    return connection.scalar(select(func.sum(db.files.c.unreadable))) or 0


def _tally(connection: Connection, column: Column[Any], where: ColumnElement[bool]) -> dict[str, int]:
    rows = connection.execute(select(column, func.count()).where(where).group_by(column))
    return {row[0]: row[1] for row in rows}
