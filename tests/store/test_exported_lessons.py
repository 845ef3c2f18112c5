"""What a file of exported lessons may hold, and what is said about what it may not."""

from typing import Any

import pytest

from rearview.store.exported_lessons import REMEDY, lessons_in

LESSON = {
    "id": "x", "condition": "lack", "key": "lack:path", "field": "path", "kind": "argument", "failed": 3, "met": 4,
    "last_seen": 1.7e9, "score": 0.9, "loud": True,
    "fixes": [{"action": "add", "field": "path", "to": "", "trajectories": 2}], "good_form": "",
}  # fmt: skip


def export(**changed: Any) -> dict[str, Any]:
    """An export whose second entry is changed."""
    good = {"server": "files", "tool": "read", "env": "", "lesson": LESSON}
    return {"rearview_lessons": 1, "lessons": [good, {**good, "lesson": {**LESSON, **changed}}]}


def fix(**changed: Any) -> dict[str, Any]:
    return {"fixes": [{"action": "add", "field": "path", "to": "", "trajectories": 2, **changed}]}


def test_a_whole_export_becomes_lessons_of_the_owner() -> None:
    first, second = lessons_in(export(key="lack:mode"), "bob")

    assert (first.owner, first.server, first.tool, first.lesson.key) == ("bob", "files", "read", "lack:path")
    assert first.lesson.id not in {"x", second.lesson.id}


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"failed": 5}, "lesson.failed is 5, but takes at most lesson.met, which is 4"),
        ({"failed": -1}, "lesson.failed is -1, but takes a whole number from 0 to 1000000000"),
        ({"met": 4.0}, "lesson.met is 4.0, but takes a whole number"),
        ({"met": True}, "lesson.met is true, but takes a whole number"),
        ({"score": float("nan")}, "lesson.score is NaN, but takes a number from 0 to 1"),
        ({"score": 1.5}, "lesson.score is 1.5, but takes a number from 0 to 1"),
        ({"last_seen": float("inf")}, "lesson.last_seen is Infinity, but takes a number"),
        ({"loud": "yes"}, 'lesson.loud is "yes", but takes true or false'),
        ({"condition": "session_exact"}, 'lesson.condition is "session_exact", but takes one of exact, value'),
        ({"key": "value:path=x"}, 'lesson.key is "value:path=x", but takes the key of a condition lack'),
        ({"key": "lack:\ud800"}, 'lesson.key is "lack:\\ud800", but takes a text of 1 to 400 characters'),
        ({"kind": None}, "lesson.kind is null, but takes one of argument"),
        ({"colour": 1}, '"lesson.colour" is no field of it; there are id, condition'),
        ({"\x1b[2J": 1}, '"lesson.\\u001b[2J" is no field of it'),
        ({"fixes": 3}, "lesson.fixes is 3, but takes a list of at most 8"),
        (fix(action="run"), 'lesson.fixes[1].action is "run", but takes one of rename, add'),
        (fix(trajectories=-2), "lesson.fixes[1].trajectories is -2, but takes a whole number"),
        (fix(why="x"), '"lesson.fixes[1].why" is no field of it; there are action, field, to, trajectories'),
    ],
)
def test_a_mistake_is_named_with_its_entry_its_field_and_a_remedy(changed: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match="entry 2: ") as raised:
        lessons_in(export(**changed), "bob")

    assert str(raised.value).startswith(f"entry 2: {complaint}")
    assert str(raised.value).endswith(REMEDY)


@pytest.mark.parametrize(
    ("exported", "complaint"),
    [
        ({}, "the file: rearview_lessons is missing; it takes 1"),
        ({"rearview_lessons": 2, "lessons": []}, "the file: rearview_lessons is 2, but takes 1"),
        ({"rearview_lessons": 1, "lessons": {}}, "the file: lessons is {}, but takes a list"),
        ({"rearview_lessons": 1, "lessons": [], "more": 1}, 'the file: "more" is no field of it'),
        ({"rearview_lessons": 1, "lessons": ["x"]}, 'entry 1 is "x", but takes an object with server, tool, env, les'),
        ({"rearview_lessons": 1, "lessons": [{}]}, "entry 1: server is missing; it takes a text of 1 to 1000"),
    ],
)
def test_what_is_no_export_is_told_so(exported: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match="nothing was imported") as raised:
        lessons_in(exported, "bob")

    assert str(raised.value).startswith(complaint)
