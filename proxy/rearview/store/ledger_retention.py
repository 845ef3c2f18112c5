"""Deletes from the ledger what is too old, or too much; evidence outlives the calls that it came from."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from rearview.store import ledger_schema as db

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long calls, and untouched evidence, are kept; and how many conditions one owner may have."""

    calls_days: float = 90.0
    evidence_days: float = 365.0
    conditions: int = 50_000


def prune(connection: Connection, now: float, limits: Limits) -> dict[str, int]:
    """Delete what is past its time and return how many rows of each table went. Calls not learned yet stay."""
    calls_until = now - limits.calls_days * DAY_SECONDS
    evidence_until = now - limits.evidence_days * DAY_SECONDS
    still_needed = select(db.records.c.trace_id).where(db.records.c.trace_id.is_not(None))
    used_relays = select(db.records.c.relay)
    deletions = {
        "records": db.records.delete().where(db.records.c.at < calls_until, db.records.c.trace_id.is_not(None)),
        "trajectories": db.trajectories.delete().where(
            db.trajectories.c.ended_at < calls_until, db.trajectories.c.trace_id.not_in(still_needed)
        ),
        "said": db.said.delete().where(db.said.c.at < evidence_until),
        "relays": db.relays.delete().where(db.relays.c.last_sign < calls_until, db.relays.c.id.not_in(used_relays)),
        "evidence": db.evidence.delete().where(db.evidence.c.last_seen < evidence_until),
        "fixes": db.fixes.delete().where(db.fixes.c.last_seen < evidence_until),
        "tools": db.tools.delete().where(db.tools.c.seen_at < evidence_until),
    }
    gone = {name: connection.execute(deletion).rowcount for name, deletion in deletions.items()}
    gone["evidence"] += _trim(connection, limits.conditions)
    return {name: number for name, number in gone.items() if number}


def _trim(connection: Connection, most: int) -> int:
    """Keep only the conditions of each owner that were met last."""
    rows = db.evidence.c
    crowded = connection.scalars(select(rows.owner).group_by(rows.owner).having(func.count() > most)).all()
    gone = 0
    for owner in crowded:
        oldest_kept = connection.scalar(
            select(rows.last_seen).where(rows.owner == owner).order_by(rows.last_seen.desc()).offset(most - 1).limit(1)
        )
        gone += connection.execute(
            db.evidence.delete().where(rows.owner == owner, rows.last_seen < oldest_kept)
        ).rowcount
    return gone
