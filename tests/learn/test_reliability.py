"""A condition's score is how often its like was right before, less what is not known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.tasks import call
from rearview.learn.counts import Evidence
from rearview.learn.outcomes import outcomes_of
from rearview.learn.reliability import (
    Table,
    base_rate,
    cell_of,
    default_table,
    table_from_json,
    table_to_json,
    type_of,
)
from rearview.learn.steps import Step

CELL = ("lack", "r=1", "2", "b<.3")


def test_nothing_known_scores_low_and_a_silenced_condition_scores_nothing() -> None:
    assert Table({}).score(CELL) < 0.15
    assert default_table().score(("exact", "gone", "5-9", "b>.6")) == 0.0


def test_more_of_the_same_raises_the_score_and_a_near_cell_lends_some() -> None:
    few, many = Table({CELL: (3.0, 3.0)}), Table({CELL: (60.0, 60.0)})

    assert few.score(CELL) < many.score(CELL)
    assert 0.5 < many.score((*CELL[:3], "b>.6")) < many.score(CELL)


def test_a_loop_in_one_trajectory_teaches_two_votes_at_most() -> None:
    learned = Table({}).learn([(CELL, True)] * 30 + [(CELL, False)] * 10)

    assert learned.cells() == {CELL: (1.5, 2.0)}


def test_learning_leaves_the_table_it_starts_from_alone() -> None:
    table = Table({CELL: (1.0, 1.0)})

    table.learn([(CELL, False)])

    assert table.cells() == {CELL: (1.0, 1.0)}


@pytest.mark.parametrize("kind", ["exact", "value", "name", "lack", "schema", "key+", "class+", "class^+", "pattern+"])
def test_the_table_that_ships_lets_two_failures_of_a_sure_type_speak(kind: str) -> None:
    scores = [default_table().score((kind, "r=1", count, "b>.6")) for count in ("2", "3-4")]

    assert min(scores) >= 0.75


def test_a_table_survives_the_ledger() -> None:
    assert table_from_json(table_to_json(default_table())).cells() == default_table().cells()


@pytest.mark.parametrize(
    ("key", "named", "expected"),
    [
        ("key:a=string", 0, "key+"),
        ("key:a=word", 2, "key"),
        ("class:a=relpath", 0, "class"),
        ("class:a=relpath", 2, "class+"),
        ("class:a=abspath^/etc", 2, "class^+"),
        ("class:a=abspath!^/etc", 2, "class^+"),
        ("pattern:a~##", 1, "pattern"),
        ("tool:", 0, "tool"),
        ("nonsense", 0, "?"),
    ],
)
def test_forms_that_errors_point_at_are_a_type_of_their_own(key: str, named: int, expected: str) -> None:
    assert type_of(key, Evidence(failed=2, named=named)) == expected


def test_a_cell_says_type_rate_count_and_how_often_the_tool_fails() -> None:
    evidence = Evidence(failed=4, good=1, failed_at=(9.0, 8.0, 7.0, 6.0), good_at=(1.0,))

    assert cell_of("tool:", evidence, base_rate(evidence), 9.0, 30.0) == ("tool", "r>.75", "3-4", "b<.6")
    assert cell_of("tool:", evidence, 0.05, 9.0, 30.0) == ("tool", "r>.75", "3-4", "b<.1")


def test_a_call_teaches_the_best_condition_of_each_type_that_it_met() -> None:
    step = Step(call("read", {"path": "docs/a", "n": 1}, "no"), {})
    rows = {
        ("", "tool:"): Evidence(failed=3, good=4, failed_at=(3.0,), good_at=(1.0,)),
        ("", "class:path=relpath"): Evidence(failed=3, failed_at=(3.0,), named=3),
        ("", "class:n=num+"): Evidence(failed=3, good=4, failed_at=(3.0,), good_at=(1.0,)),
        ("", "lack:day"): Evidence(failed=1, failed_at=(3.0,)),
        ("", "lack:path"): Evidence(failed=9, failed_at=(3.0,)),
        ("project:p2", "value:path=docs/a"): Evidence(failed=9, failed_at=(3.0,)),
        ("", "shape:n=num+|path=relpath"): Evidence(good=4, good_at=(1.0,)),
    }

    assert sorted(outcomes_of(step, rows, 3.0, 30.0)) == [
        (("class", "r>.3", "3-4", "b<.6"), True),
        (("class+", "r=1", "3-4", "b<.6"), True),
        (("lack", "r=1", "1", "b<.6"), True),
        (("tool", "r>.3", "3-4", "b<.6"), True),
    ]


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([CELL, ("exact", "r=1", "1", "b<.1"), (*CELL[:3], "b>.6")]), st.booleans())))
def test_a_score_is_a_chance(outcomes: list[tuple[tuple[str, str, str, str], bool]]) -> None:
    table = Table({}).learn(outcomes)

    assert all(0.0 <= table.score(cell) <= 1.0 for cell, _ in outcomes)
