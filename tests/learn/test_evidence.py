"""One vote a task, condition and outcome; the same votes in any order are the same evidence."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.tasks import HOUR, START, call, digest_of, rows_of, task
from rearview.learn.evidence import (
    Evidence,
    Vote,
    by_condition,
    evidence_from_json,
    evidence_to_json,
    lesson_id,
    merge,
    votes_of,
)
from rearview_interceptors.api import Grade, Kind, Said

DENIED = "Access denied - path outside allowed directories: /home/docs/a not in /srv/files"


def keys(votes: list[Vote], *, failed: bool) -> set[str]:
    return {vote.key for vote in votes if vote.failed is failed}


def vote(at: float, *, failed: bool, kind: Kind = Kind.ARGUMENT, **more: Any) -> Vote:
    return Vote("ann", "files", "read", "lack:path", failed, kind if failed else None, at, **more)


def test_a_loop_in_one_task_is_one_vote_at_the_time_of_its_last_call() -> None:
    votes = votes_of(task(0, *[call("read", {"path": "docs/a"}, DENIED)] * 20), {})

    assert [(v.key, v.at) for v in votes if v.key == "class:path=relpath"] == [("class:path=relpath", START + 19)]
    assert len(votes) == len({(v.key, v.failed) for v in votes})


def test_a_failure_and_its_correction_vote_for_different_things() -> None:
    votes = votes_of(task(0, call("read", {"path": "docs/a"}, DENIED), call("read", {"path": "/srv/files/a"})), {}, {})

    assert keys(votes, failed=True) == {
        f"exact:{digest_of('read', {'path': 'docs/a'})}",
        "tool:",
        "shape:path=relpath",
        "class:path=relpath",
        "pattern:path~docs/a",
        "value:path=docs/a",
    }
    assert keys(votes, failed=False) == {
        "tool:",
        "shape:path=abspath",
        "class:path=abspath",
        "class:path=abspath^/srv",
        "class:path=abspath^/srv/files",
        "class:path=abspath^/srv/files/a",
        "pattern:path~/srv/files/a",
    }


def test_a_vote_says_whose_it_is_and_why() -> None:
    votes = votes_of(task(3, call("read", {"file": "/a"}, "Invalid arguments: Required at path", version="2.1")), {})

    found = next(v for v in votes if v.key == "lack:path")

    assert found == Vote(
        owner="ann",
        server="files",
        tool="read",
        key="lack:path",
        failed=True,
        kind=Kind.ARGUMENT,
        at=START + 3 * HOUR,
        version="2.1",
        env="",
        field="path",
        named=True,
        mark=found.mark,
    )


@pytest.mark.parametrize("grade", [Grade.SOFT, Grade.FLAGGED, Grade.HARD])
def test_every_grade_of_failure_counts(grade: Grade) -> None:
    assert keys(votes_of(task(0, call("read", {}, "broken", grade=grade)), {}), failed=True) >= {"tool:"}


@pytest.mark.parametrize(
    "silent",
    [
        call("read", {"path": "x"}, grade=Grade.UNKNOWN),
        call("read", {"path": "x"}, "held", grade=Grade.FLAGGED, said=Said("hold", "00ff")),
    ],
)
def test_held_calls_and_unknown_outcomes_say_nothing(silent: Any) -> None:
    assert votes_of(task(0, silent), {}) == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Kind.TRANSIENT, {"tool:"}),
        (Kind.RATE_LIMITED, {"tool:"}),
        (Kind.ENVIRONMENT, {"tool:"}),
        (Kind.EMPTY, {f"exact:{digest_of('read', {'path': 'x'})}"}),
        (Kind.UNKNOWN_TOOL, {f"exact:{digest_of('read', {'path': 'x'})}", "tool:"}),
    ],
)
def test_kinds_that_the_arguments_are_not_to_blame_for(kind: Kind, expected: set[str]) -> None:
    assert keys(votes_of(task(0, call("read", {"path": "x"}, "no", kind=kind)), {}), failed=True) == expected


def test_successes_of_what_is_not_known_are_flagged_or_left_out() -> None:
    good = task(0, call("read", {"path": "/srv/a"}))

    flagged = {v.key for v in votes_of(good, {}) if v.only_if_known}
    known = {("files", "read"): ["lack:file", "value:path=/srv/a", "value:path=/b", "key:path=number"]}

    assert flagged == {
        f"exact:{digest_of('read', {'path': '/srv/a'})}",
        "value:path=/srv/a",
        "key:path=abspath",
        "key:path=string",
    }
    assert {v.key for v in votes_of(good, {}, known) if v.only_if_known} == {"lack:file", "value:path=/srv/a"}


def test_a_held_call_that_was_repeated_and_worked_silences_its_lesson_at_once() -> None:
    failed = [task(n, call("read", {"path": f"docs/{n}"}, DENIED)) for n in range(3)]
    lesson = lesson_id("ann", "files", "read", "class:path=relpath")
    proof = task(5, call("read", {"path": "docs/q"}, said=Said("repeat", lesson)))

    rows = {row.key: row.evidence for row in rows_of([*failed, proof])}

    assert (rows["class:path=relpath"].since, rows["tool:"].since) == (2, 1)


def test_evidence_counts_failures_successes_and_those_since() -> None:
    votes = [
        vote(1.0, failed=True),
        vote(5.0, failed=True, kind=Kind.OTHER),
        vote(2.0, failed=False),
        vote(7.0, failed=False),
    ]

    assert merge(None, votes) == Evidence(
        failed=2,
        good=2,
        failed_at=(5.0, 1.0),
        good_at=(7.0, 2.0),
        kinds=(("argument", 1), ("other", 1)),
        first_seen=1.0,
        last_seen=7.0,
    )
    assert merge(None, votes).since == 1


def test_both_counts_lose_weight_at_the_same_rate() -> None:
    day = 86_400.0
    evidence = merge(None, [vote(0.0, failed=True), vote(30 * day, failed=True), vote(30 * day, failed=False)])

    assert evidence.weights(30 * day, 30.0) == (1.5, 1.0)
    assert evidence.weights(60 * day, 30.0) == (0.75, 0.5)
    assert evidence.weights(60 * day, 0.0) == (2.0, 1.0)


votes = st.lists(
    st.builds(
        vote,
        at=st.floats(0, 1e9),
        failed=st.booleans(),
        kind=st.sampled_from(Kind),
        version=st.sampled_from(["1", "2"]),
        field=st.sampled_from(["", "a", "b"]),
        named=st.booleans(),
        mark=st.sampled_from(["", "a", "b", "c", "d", "e", "f"]),
        weight=st.sampled_from([1, 2]),
    ),
    max_size=14,
)


@settings(deadline=None)
@given(votes, st.randoms(use_true_random=False), st.integers(0, 14))
def test_votes_in_any_order_and_in_any_portions_are_the_same_evidence(cast: list[Vote], random: Any, cut: int) -> None:
    shuffled = list(cast)
    random.shuffle(shuffled)

    in_portions = merge(merge(merge(None, shuffled[:cut]) if shuffled[:cut] else None, shuffled[cut:]), [])

    assert in_portions == merge(None, cast)


@settings(deadline=None)
@given(votes)
def test_evidence_survives_the_ledger(cast: list[Vote]) -> None:
    evidence = merge(None, cast)

    assert evidence_from_json(evidence_to_json(evidence)) == evidence


calls = st.builds(
    call,
    st.sampled_from(["read", "write"]),
    st.dictionaries(
        st.sampled_from(["path", "day"]), st.sampled_from(["docs/a", "/srv/files/a", 3, "12/05/2026"]), max_size=2
    ),
    st.sampled_from(["", "", DENIED, "Required at path"]),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(calls, min_size=1, max_size=3), max_size=5), st.randoms(use_true_random=False))
def test_trajectories_merged_in_any_order_give_the_same_evidence(lived: list[list[Any]], random: Any) -> None:
    tasks = [task(number, *steps) for number, steps in enumerate(lived)]
    known: dict[tuple[str, str], list[str]] = {}
    for each in tasks:
        for v in votes_of(each, {}):
            known.setdefault((v.server, v.tool), []).append(v.key)

    def evidence(order: list[Any]) -> dict[Any, Evidence]:
        rows: dict[Any, Evidence] = {}
        for each in order:
            for place, cast in by_condition(votes_of(each, {}, known)).items():
                rows[place] = merge(rows.get(place), cast)
        return rows

    shuffled = list(tasks)
    random.shuffle(shuffled)

    assert evidence(shuffled) == evidence(tasks)
