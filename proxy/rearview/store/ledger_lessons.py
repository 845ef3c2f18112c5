"""The lessons as the ledger keeps them: what evidence says now, what the user has decided, and what was imported."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, and_, case, func, select, update
from sqlalchemy.dialects.sqlite import insert

from rearview.learn.model import ScopedLesson
from rearview.store import ledger_schema as db
from rearview.store.exported_lessons import EXPORT_VERSION
from rearview.store.ledger_rows import lesson_to_json, scoped_of
from rearview_interceptors.api import Condition

IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Changes:
    """Ids of lessons by what happened to them."""

    born: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.born or self.changed or self.gone)


@dataclass(frozen=True, slots=True)
class LessonView:
    """A lesson as a person looks at it. `effects` counts, by channel, how often it was spoken and what came of it."""

    scoped: ScopedLesson
    state: str
    origin: str
    born_at: float
    changed_at: float
    evidence: Mapping[str, Any]
    effects: Mapping[str, Mapping[str, int]]


def keep(
    connection: Connection, owner: str, server: str, tool: str, current: Iterable[ScopedLesson], now: float
) -> Changes:
    """Make `current` the lessons of one tool. What is muted stays so; what was imported, until evidence renews it."""
    wanted = {each.lesson.id: each for each in current}
    rows = db.lessons.c
    query = select(db.lessons).where(rows.owner == owner, rows.server == server, rows.tool == tool)
    known = {row.id: row for row in connection.execute(query)}
    born, changed = [], []
    for name, scoped in wanted.items():
        row = known.get(name)
        if row is None or row.state in ("gone", "forgotten"):
            born.append(name)
        elif row.origin or row.body != _body(scoped):
            changed.append(name)
        else:
            continue
        _put(connection, scoped, now, born_at=now if name in born else row.born_at if row else now)
    gone = [name for name, row in known.items() if name not in wanted and row.state == "active" and not row.origin]
    for name in gone:
        _set_state(connection, owner, name, "gone", now)
    return Changes(tuple(born), tuple(changed), tuple(gone))


def active(connection: Connection) -> list[ScopedLesson]:
    """Return the lessons that relays may use, of all owners: the table keeps owners apart."""
    query = select(db.lessons).where(db.lessons.c.state == "active")
    ordered = connection.execute(query.order_by(db.lessons.c.owner, db.lessons.c.id))
    return [scoped for row in ordered if (scoped := scoped_of(row)) is not None]


def set_muted(connection: Connection, owner: str, lesson: str, *, muted: bool, now: float) -> bool:
    """Mute a lesson or let it speak again; False if there is none of that id."""
    before, after = ("active", "muted") if muted else ("muted", "active")
    if connection.scalar(_state(owner, lesson)) not in (before, after):
        return False
    _set_state(connection, owner, lesson, after, now)
    return True


def forget(connection: Connection, owner: str, lesson: str, now: float) -> bool:
    """Delete a lesson with its evidence and fixes; only new failures can bring it back. False if there is none."""
    row = connection.execute(select(db.lessons).where(db.lessons.c.owner == owner, db.lessons.c.id == lesson)).first()
    if row is None or row.state == "forgotten":
        return False
    for table in (db.evidence, db.fixes):
        connection.execute(table.delete().where(*_same_condition(table, row)))
    # What is left only says that it was forgotten, not what it was about.
    blank = {"key": "", "env": "", "body": "{}", "state": "forgotten", "changed_at": now}
    connection.execute(update(db.lessons).where(db.lessons.c.owner == owner, db.lessons.c.id == lesson).values(**blank))
    return True


def views(connection: Connection, owner: str, lesson: str | None = None) -> list[LessonView]:
    """Return the owner's active and muted lessons, or the one of that id, the surest first."""
    rows, proof = db.lessons.c, db.evidence.c
    same = [rows[name] == proof[name] for name in ("owner", "server", "tool", "env", "key")]
    query = (
        select(db.lessons, proof.body.label("evidence"))
        .select_from(db.lessons.outerjoin(db.evidence, and_(*same)))
        .where(rows.owner == owner, rows.state.in_(("active", "muted")))
    )
    if lesson is not None:
        query = query.where(rows.id == lesson)
    effects = _effects(connection, owner)
    found = []
    for row in connection.execute(query):
        scoped = scoped_of(row)
        if scoped is not None:
            evidence, spoken = json.loads(row.evidence or "{}"), effects.get(row.id, {})
            found.append(LessonView(scoped, row.state, row.origin, row.born_at, row.changed_at, evidence, spoken))
    return sorted(found, key=lambda view: (-view.scoped.lesson.score, view.scoped.lesson.id))


def export(connection: Connection, owner: str, *, exact: bool) -> dict[str, Any]:
    """Return the owner's active lessons, with or without those about one call, without saying whose they are."""
    rows = db.lessons.c
    query = select(db.lessons).where(rows.owner == owner, rows.state == "active").order_by(rows.id)
    if not exact:
        query = query.where(rows.key.not_like(f"{Condition.EXACT}:%"))
    lessons = [
        {"server": row.server, "tool": row.tool, "env": row.env, "lesson": json.loads(row.body)}
        for row in connection.execute(query)
    ]
    return {"rearview_lessons": EXPORT_VERSION, "lessons": lessons}


def take_in(connection: Connection, lessons: Iterable[ScopedLesson], now: float) -> int:
    """Add lessons that their owner lacks, marked as imported, and return how many; what is muted stays muted."""
    new = 0
    for each in lessons:
        if connection.scalar(_state(each.owner, each.lesson.id)) in (None, "gone", "forgotten"):
            _put(connection, each, now, born_at=now, origin=IMPORTED)
            new += 1
    return new


def _body(scoped: ScopedLesson) -> str:
    return json.dumps(lesson_to_json(scoped.lesson))


def _put(connection: Connection, scoped: ScopedLesson, now: float, *, born_at: float, origin: str = "") -> None:
    row = insert(db.lessons).values(
        owner=scoped.owner, id=scoped.lesson.id, server=scoped.server, tool=scoped.tool, env=scoped.env,
        key=scoped.lesson.key, state="active", origin=origin, body=_body(scoped), born_at=born_at, changed_at=now,
    )  # fmt: skip
    changed = {
        name: row.excluded[name] for name in ("server", "tool", "env", "key", "origin", "body", "born_at", "changed_at")
    }
    changed["state"] = case((db.lessons.c.state == "muted", "muted"), else_="active")  # type: ignore[assignment] # any expression will do
    connection.execute(row.on_conflict_do_update(index_elements=["owner", "id"], set_=changed))


def _state(owner: str, lesson: str) -> Any:
    return select(db.lessons.c.state).where(db.lessons.c.owner == owner, db.lessons.c.id == lesson)


def _set_state(connection: Connection, owner: str, lesson: str, state: str, now: float) -> None:
    which = (db.lessons.c.owner == owner, db.lessons.c.id == lesson)
    connection.execute(update(db.lessons).where(*which).values(state=state, changed_at=now))


def _same_condition(table: Table, row: Row[Any]) -> list[Any]:
    return [table.c[name] == getattr(row, name) for name in ("owner", "server", "tool", "env", "key")]


def _effects(connection: Connection, owner: str) -> dict[str, dict[str, dict[str, int]]]:
    said = db.said.c
    counted = connection.execute(
        select(said.lesson, said.channel, func.count(), func.sum(said.changed), func.sum(said.succeeded))
        .where(said.owner == owner)
        .group_by(said.lesson, said.channel)
    )
    effects: dict[str, dict[str, dict[str, int]]] = {}
    for lesson, channel, times, changed, succeeded in counted:
        counts = {"said": times, "changed": changed or 0, "succeeded": succeeded or 0}
        effects.setdefault(lesson, {})[channel] = counts
    return effects
