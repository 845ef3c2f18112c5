"""What the learner reads and writes when a task is over: its calls, its trajectory, its votes, in one transaction."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Table, bindparam, select, update
from sqlalchemy.dialects.sqlite import insert

from rearview.learn.effects import effects_of
from rearview.learn.model import CallRecord, ToolSchema, Trajectory
from rearview.learn.segment import RelayLife
from rearview.store import ledger_schema as db
from rearview.store.ledger_intake import count
from rearview.store.ledger_rows import call_of, schema_of, text_of
from rearview_interceptors.api import FAILED

# SQLite takes at least 999 parameters in a query.
_KEYS_AT_ONCE = 500


class Mark(NamedTuple):
    """As much of a call as cutting tasks needs."""

    relay: str
    seq: int
    at: float
    ms: float
    owner: str
    client: str
    task_ref: str


class Scope(NamedTuple):
    """What names a row of `evidence` or `fixes`: a condition of a tool, the environment tag that it is bound to."""

    owner: str
    server: str
    tool: str
    env: str
    key: str


def marks(connection: Connection) -> list[Mark]:
    """Return the calls, of all owners, that no trajectory has yet."""
    columns = [db.records.c[name] for name in Mark._fields]
    return [Mark(*row) for row in connection.execute(select(*columns).where(db.records.c.trace_id.is_(None)))]


def lives(connection: Connection, relays: Iterable[str], live: frozenset[str]) -> dict[str, RelayLife]:
    """Return what is known of these relays; `live` are those whose journal is still held."""
    found = {}
    query = select(db.relays.c.started, db.relays.c.last_sign, db.relays.c.ended_at).where(
        db.relays.c.id == bindparam("relay")
    )
    for relay in relays:
        row = connection.execute(query, {"relay": relay}).first()
        if row is not None:
            found[relay] = RelayLife(row.started, row.last_sign, row.ended_at, relay in live)
    return found


def calls_at(connection: Connection, marks: Sequence[Mark]) -> list[CallRecord]:
    """Return the calls of these marks in their order."""
    by_relay: dict[tuple[str, str], list[int]] = {}
    for mark in marks:
        by_relay.setdefault((mark.owner, mark.relay), []).append(mark.seq)
    rows = db.records.c
    found = {}
    for (owner, relay), numbers in by_relay.items():
        query = select(db.records).where(rows.owner == owner, rows.relay == relay)
        for start in range(0, len(numbers), _KEYS_AT_ONCE):
            for row in connection.execute(query.where(rows.seq.in_(numbers[start : start + _KEYS_AT_ONCE]))):
                found[relay, row.seq] = call_of(row)
    return [found[mark.relay, mark.seq] for mark in marks]


def root_around(connection: Connection, owner: str, client: str, begin: float, end: float) -> str | None:
    """Return the root of the first trajectory of this client that had begun by `end` and ended after `begin`."""
    rows = db.trajectories.c
    return connection.scalar(
        select(rows.root)
        .where(rows.owner == owner, rows.client == client, rows.created_at <= end, rows.ended_at > begin)
        .order_by(rows.created_at)
        .limit(1)
    )


def calls_of_root(connection: Connection, owner: str, root: str) -> list[list[CallRecord]]:
    """Return the calls of each trajectory that has voted for this root already."""
    learned = select(db.trajectories.c.trace_id).where(
        db.trajectories.c.owner == owner, db.trajectories.c.root == root, db.trajectories.c.state == "learned"
    )
    return [calls_of(connection, owner, trace_id) for trace_id in connection.scalars(learned).all()]


def calls_of(connection: Connection, owner: str, trace_id: str) -> list[CallRecord]:
    """Return the calls of one trajectory in time order."""
    rows = db.records.c
    query = select(db.records).where(rows.owner == owner, rows.trace_id == trace_id)
    return [call_of(row) for row in connection.execute(query.order_by(rows.at, rows.relay, rows.seq))]


def schemas(connection: Connection, owner: str, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], ToolSchema]:
    """Return the newest schema of each of these tools of the owner, by server and tool."""
    found = {}
    for server, tool in places:
        rows = db.tools.c
        newest = select(db.tools).where(rows.owner == owner, rows.server == server, rows.tool == tool)
        row = connection.execute(newest.order_by(rows.seen_at.desc()).limit(1)).first()
        if row is not None:
            found[server, tool] = schema_of(row)
    return found


def close(connection: Connection, trajectory: Trajectory, root: str, now: float, error: str = "") -> None:
    """Write a trajectory and give it its calls. With an `error` it counts as one that could not be learned.

    What was said in it and what followed is written too. Its votes belong into the same transaction.
    """
    owner, trace_id = trajectory.owner, trajectory.trace_id
    failed = sum(call.grade in FAILED for call in trajectory.steps)
    connection.execute(
        insert(db.trajectories).values(
            trace_id=trace_id, owner=owner, client=trajectory.client, root=root, env=text_of(trajectory.env),
            created_at=trajectory.created_at, ended_at=trajectory.ended_at, calls=len(trajectory.steps),
            failed=failed, state="failed" if error else "learned", error=error, learned_at=now,
        )
    )  # fmt: skip
    calls = [{"whose": owner, "which": call.relay, "number": call.seq} for call in trajectory.steps]
    rows = db.records.c
    owned = (rows.owner == bindparam("whose"), rows.relay == bindparam("which"), rows.seq == bindparam("number"))
    connection.execute(update(db.records).where(*owned).values(trace_id=trace_id), calls)
    connection.execute(
        insert(db.steps),
        [
            {"trace_id": trace_id, "step_index": index, "owner": owner, "relay": call.relay, "seq": call.seq}
            for index, call in enumerate(trajectory.steps)
        ],
    )
    _write_effects(connection, trajectory)
    count(connection, owner, "trajectories_failed" if error else "trajectories_learned")


def _write_effects(connection: Connection, trajectory: Trajectory) -> None:
    rows = [
        {
            "relay": effect.call.relay, "seq": effect.call.seq, "owner": trajectory.owner, "at": effect.call.at,
            "server": effect.call.server, "tool": effect.call.tool, "channel": effect.call.said.channel,
            "lesson": effect.call.said.lesson, "trace_id": trajectory.trace_id, "changed": effect.changed,
            "succeeded": effect.succeeded,
        }
        for effect in effects_of(trajectory)
        if effect.call.said is not None
    ]  # fmt: skip
    if rows:
        connection.execute(insert(db.said).on_conflict_do_nothing(), rows)


def bodies(connection: Connection, table: Table, scopes: Iterable[Scope]) -> dict[Scope, str]:
    """Return the bodies of those of these rows that `evidence` or `fixes` has."""
    by_tool: dict[tuple[str, str, str], set[str]] = {}
    for scope in scopes:
        by_tool.setdefault((scope.owner, scope.server, scope.tool), set()).add(scope.key)
    found = {}
    for (owner, server, tool), keys in by_tool.items():
        of_tool = (table.c.owner == owner, table.c.server == server, table.c.tool == tool)
        ordered = sorted(keys)
        for start in range(0, len(ordered), _KEYS_AT_ONCE):
            some = table.c.key.in_(ordered[start : start + _KEYS_AT_ONCE])
            for row in connection.execute(select(table.c.env, table.c.key, table.c.body).where(*of_tool, some)):
                found[Scope(owner, server, tool, row.env, row.key)] = row.body
    return found


def put_bodies(connection: Connection, table: Table, rows: Mapping[Scope, tuple[float, str]]) -> None:
    """Write rows of `evidence` or `fixes`: when each was last seen, and its body."""
    if not rows:
        return
    row = insert(table)
    changed = {"last_seen": row.excluded.last_seen, "body": row.excluded.body}
    values = [{**scope._asdict(), "last_seen": at, "body": body} for scope, (at, body) in rows.items()]
    connection.execute(row.on_conflict_do_update(index_elements=list(Scope._fields), set_=changed), values)


def read_only_tools(connection: Connection, owner: str, server: str) -> frozenset[str]:
    """Return the tools of a server that say of themselves that they change nothing."""
    rows = db.tools.c
    query = select(rows.tool).where(rows.owner == owner, rows.server == server)
    readers = set(connection.scalars(query.where(rows.read_only == 1)))
    return frozenset(readers - set(connection.scalars(query.where(rows.read_only == 0))))


def bodies_of_tool(
    connection: Connection, table: Table, owner: str, server: str, tool: str
) -> list[tuple[str, str, str]]:
    """Return environment, key and body of every row that one tool has in `evidence` or `fixes`, in a fixed order."""
    rows = table.c
    query = select(rows.env, rows.key, rows.body).where(rows.owner == owner, rows.server == server, rows.tool == tool)
    return [(env, key, body) for env, key, body in connection.execute(query.order_by(rows.env, rows.key))]


def tools_with_evidence(connection: Connection) -> list[tuple[str, str, str]]:
    """Return owner, server and tool of everything that there is evidence, or a lesson of our own, on."""
    rows, lessons = db.evidence.c, db.lessons.c
    query = select(rows.owner, rows.server, rows.tool).union(
        select(lessons.owner, lessons.server, lessons.tool).where(lessons.origin == "", lessons.state == "active")
    )
    return [(owner, server, tool) for owner, server, tool in connection.execute(query)]


def reliability(connection: Connection, owner: str) -> dict[str, list[float]]:
    """Return by bucket how often conditions were right, and how often they were met, for this owner."""
    rows = db.reliability.c
    query = select(rows.bucket, rows.body).where(rows.owner == owner)
    return {row.bucket: json.loads(row.body) for row in connection.execute(query)}


def put_reliability(connection: Connection, owner: str, buckets: Mapping[str, Sequence[float]]) -> None:
    """Write what `reliability` returns."""
    row = insert(db.reliability)
    values = [{"owner": owner, "bucket": bucket, "body": json.dumps(list(body))} for bucket, body in buckets.items()]
    update_it = row.on_conflict_do_update(index_elements=["owner", "bucket"], set_={"body": row.excluded.body})
    connection.execute(update_it, values)
