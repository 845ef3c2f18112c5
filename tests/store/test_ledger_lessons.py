"""Lessons in the ledger: evidence makes them, and the user has the last word."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.journals import OWNER
from rearview.errors import StoreError
from rearview.learn.evidence import lesson_id
from rearview.learn.model import ScopedLesson
from rearview.store import ledger_hindsight, ledger_lessons
from rearview.store import ledger_schema as db
from rearview.store.ledger import Ledger, open_ledger, publish
from rearview.store.ledger_hindsight import Scope
from rearview.store.lessons import LessonsTable
from rearview.store.state import StateFolder, open_state
from rearview_interceptors.api import Condition, Fix, Kind, Lesson

NOW = 1_700_000_000.0


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return open_state(tmp_path / "state")


@pytest.fixture
def ledger(state: StateFolder) -> Iterator[Ledger]:
    opened = open_ledger(state, clock=lambda: NOW)
    yield opened
    opened.close()


def lesson(key: str = "value:path=x", owner: str = OWNER, **fields: Any) -> ScopedLesson:
    values = {
        "id": lesson_id(owner, "files", "read", key), "condition": Condition.VALUE, "key": key, "field": "path",
        "kind": Kind.ARGUMENT, "failed": 3, "met": 4, "last_seen": NOW, "score": 0.9, "loud": True,
        "fixes": (Fix("convert", "path", "abspath", 2),), "good_form": "abspath",
    }  # fmt: skip
    return ScopedLesson(owner, "files", "read", Lesson(**{**values, **fields}))


def keep(ledger: Ledger, *lessons: ScopedLesson, owner: str = OWNER) -> ledger_lessons.Changes:
    with ledger.writing() as connection:
        return ledger_lessons.keep(connection, owner, "files", "read", lessons, NOW)


def spoken(state: StateFolder, owner: str = OWNER) -> list[Lesson]:
    table = LessonsTable.open(state.lessons)
    try:
        return [scoped.lesson for scoped in table.for_tool(owner, "files", "read")]
    finally:
        table.close()


def test_lessons_are_born_change_and_go_with_their_evidence(ledger: Ledger, state: StateFolder) -> None:
    one, two = lesson("value:path=x"), lesson("value:path=y")

    born = keep(ledger, one, two)
    same = keep(ledger, one, two)
    changed = keep(ledger, lesson("value:path=x", failed=4), two)
    gone = keep(ledger, two)
    publish(ledger, state)

    names = one.lesson.id, two.lesson.id
    assert (born.born, bool(same), changed.changed, gone.gone) == (names, False, names[:1], names[:1])
    assert spoken(state) == [two.lesson]


def test_a_muted_lesson_is_silent_until_it_is_unmuted_whatever_is_learned_meanwhile(
    ledger: Ledger, state: StateFolder
) -> None:
    keep(ledger, lesson())
    name = lesson().lesson.id

    muted = ledger.mute(OWNER, name), ledger.mute("bob", name)
    keep(ledger, lesson(failed=4))
    publish(ledger, state)
    silent = spoken(state), [view.state for view in ledger.lessons(OWNER)]
    unmuted = ledger.unmute(OWNER, name)
    publish(ledger, state)

    assert (muted, silent, unmuted) == ((True, False), ([], ["muted"]), True)
    assert spoken(state) == [lesson(failed=4).lesson]


def test_a_forgotten_lesson_is_gone_with_its_evidence_and_what_it_was_about(ledger: Ledger, state: StateFolder) -> None:
    keep(ledger, lesson())
    with ledger.writing() as connection:
        scope = Scope(OWNER, "files", "read", "", "value:path=x")
        ledger_hindsight.put_bodies(connection, db.evidence, {scope: (NOW, "{}")})
        ledger_hindsight.put_bodies(connection, db.fixes, {scope: (NOW, "[]")})

    forgotten = ledger.forget(OWNER, lesson().lesson.id), ledger.forget(OWNER, lesson().lesson.id)
    publish(ledger, state)

    with ledger.reading() as connection:
        left = connection.exec_driver_sql("SELECT key, body, state FROM lessons").all()
        fixes = connection.exec_driver_sql("SELECT count(*) FROM fixes").scalar()
    assert fixes == 0
    assert forgotten == (True, False)
    assert (ledger.counts(OWNER).conditions, ledger.lessons(OWNER), spoken(state)) == (0, [], [])
    assert [tuple(row) for row in left] == [("", "{}", "forgotten")]


def test_lessons_travel_to_another_owner_and_are_marked_as_imported(ledger: Ledger, state: StateFolder) -> None:
    keep(ledger, lesson())
    exported = ledger.export_lessons(OWNER)

    new = ledger.import_lessons("bob", exported), ledger.import_lessons("bob", exported)
    keep(ledger, owner="bob")
    publish(ledger, state)

    assert new == (1, 0)
    assert [(view.scoped, view.origin) for view in ledger.lessons("bob")] == [(lesson(owner="bob"), "imported")]
    assert spoken(state, "bob") == [lesson(owner="bob").lesson]


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"rearview_lessons": 2, "lessons": []},
        {"rearview_lessons": 1, "lessons": [{}]},
        {"rearview_lessons": 1, "lessons": [{"server": "s", "tool": "t", "env": "", "lesson": {"id": "x"}}]},
    ],
)
def test_what_is_no_export_is_refused_whole(ledger: Ledger, broken: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="can't be imported"):
        ledger.import_lessons(OWNER, broken)

    assert ledger.lessons(OWNER) == []
