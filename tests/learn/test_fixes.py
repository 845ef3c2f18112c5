"""What made a failed call work is a typed difference, counted once a task, and never another call's value."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.tasks import call, fixes_after, lessons_after, task
from rearview.learn.fixes import (
    fixes_from_json,
    fixes_of,
    fixes_to_json,
    merge_fixes,
    worth_saying,
)
from rearview_interceptors.api import Fix, Grade, Kind

NO = "Error: that did not work"

# arguments that fail, error, arguments that then work, what changed
CHANGES: dict[str, tuple[dict[str, Any], str, dict[str, Any], set[Fix]]] = {
    "another key": (
        {"file": "/a/b"}, "Invalid arguments: Required at path", {"path": "/a/b"}, {Fix("rename", "file", "path")},
    ),
    "another key and another form of its value": (
        {"file": "b.txt"}, "Invalid arguments: Required at path", {"path": "/a/b.txt"}, {Fix("rename", "file", "path")},
    ),
    "another key, in a list": (
        {"file": "/a"}, "Invalid arguments: Required at paths", {"paths": ["/a"]}, {Fix("rename", "file", "paths")},
    ),
    "one more key": (
        {"a": 1}, "Invalid arguments: Required at day", {"a": 1, "day": "2026-05-01"}, {Fix("add", "day", "date")},
    ),
    "one key less": (
        {"a": 1, "force": True}, "unexpected keyword argument 'force'", {"a": 1}, {Fix("drop", "force")},
    ),
    "a list instead of a text": (
        {"paths": "/a"}, "Expected array, received string at paths", {"paths": ["/a"]}, {Fix("type", "paths", "array")},
    ),
    "a relative path made absolute": (
        {"path": "docs/a.md"}, "Access denied - path outside allowed directories: /home/docs/a.md not in /srv/files",
        {"path": "/srv/files/docs/a.md"}, {Fix("prefix", "path", "/srv/files"), Fix("convert", "path", "abspath")},
    ),
    "a date in another format": (
        {"day": "12/05/2026"}, "time data '12/05/2026' does not match format '%Y-%m-%d'", {"day": "2026-05-12"},
        {Fix("convert", "day", "####-##-##")},
    ),
    "another branch": (
        {"repo": "/r", "branch": "master"}, "Ref 'master' did not resolve", {"repo": "/r", "branch": "main"},
        {Fix("known_name", "branch", "main")},
    ),
    "another table": (
        {"sql": "SELECT a FROM usr"}, "no such table: usr", {"sql": "SELECT a FROM users"},
        {Fix("known_name", "sql", "users")},
    ),
    "a nested key": (
        {"edits": [{"old": "a"}]}, "Required at edits[0].oldText", {"edits": [{"oldText": "a"}]},
        {Fix("rename", "edits[].old", "edits[].oldText")},
    ),
}  # fmt: skip


def found(*tasks: Any) -> set[Fix]:
    return {Fix(fix.action, fix.field, fix.to) for fixes in fixes_after(tasks).values() for fix in fixes}


@pytest.mark.parametrize("change", CHANGES)
def test_a_recovery_shows_what_to_change(change: str) -> None:
    bad, error, good, expected = CHANGES[change]

    assert found(task(0, call("tool", bad, error), call("tool", good))) == expected


@pytest.mark.parametrize("change", CHANGES)
def test_a_lesson_carries_the_fix_for_what_it_blames(change: str) -> None:
    bad, error, good, expected = CHANGES[change]
    lived = [task(n, call("tool", bad, error), call("tool", good)) for n in range(2)]

    carried = {fix for each in lessons_after(lived) for fix in each.lesson.fixes}

    assert {Fix(fix.action, fix.field, fix.to, 2) for fix in expected} <= carried


@pytest.mark.parametrize(
    ("field", "old", "new"),
    [
        ("url", "https://a.example/x", "https://b.example/x"),
        ("host", "alpha", "beta"),
        ("amount", "100", "200"),
        ("command", "rm", "ls"),
        ("recipient", "ann", "bob"),
        ("branch", "master", "x y; rm -rf"),
    ],
)
def test_hosts_amounts_and_commands_are_never_passed_on(field: str, old: str, new: str) -> None:
    fixes = found(
        task(0, call("tool", {field: old}, f"'{old}' not found", kind=Kind.NOT_FOUND), call("tool", {field: new}))
    )

    assert {fix for fix in fixes if new in fix.to or fix.action == "known_name"} == set()


def test_a_tool_that_was_called_in_between_helps_from_the_second_time_on() -> None:
    def lived(number: int) -> Any:
        opening = call("open", {"file": f"f{number}"})
        save = {"name": f"n{number}"}
        return task(number, call("save", save, "No file is open", kind=Kind.PRECONDITION), opening, call("save", save))

    assert found(lived(0)) == set()
    assert found(lived(0), lived(1)) == {Fix("call_first", "", "open")}


def test_a_tool_of_another_server_is_never_called_first() -> None:
    lived = [task(n, call("save", {}, NO), call("open", {}, server="other"), call("save", {})) for n in range(3)]

    assert found(*lived) == set()


def test_a_tool_that_only_reads_may_be_called_first_at_once() -> None:
    fix = Fix("call_first", "", "open", 1)

    assert worth_saying([fix], frozenset({"open"})) == (fix,)
    assert worth_saying([fix]) == ()


def test_waiting_is_what_helped_when_the_same_call_works_later() -> None:
    lived = task(0, call("get", {"a": 1}, "429", kind=Kind.RATE_LIMITED), call("get", {"a": 1}))

    assert found(lived) == {Fix("wait")}


def test_a_success_that_is_far_away_or_about_something_else_is_no_recovery() -> None:
    bad = call("read", {"path": "a/b"}, NO, kind=Kind.FORBIDDEN)
    other = call("list", {})
    unlike = call("read", {"path": "/x/y", "head": 3, "tail": 2, "mode": "r", "deep": True})

    assert found(task(0, bad, *[other] * 5, call("read", {"path": "/s/a/b"}))) == set()
    assert found(task(0, bad, unlike)) == set()
    assert found(task(0, bad, call("read", {"path": "/s/a/b"}, grade=Grade.UNKNOWN))) == set()


def test_one_task_counts_once_and_counts_are_no_part_of_what_a_fix_is() -> None:
    bad, error, good, _ = CHANGES["another key"]
    twice = task(0, *[call("tool", bad, error), call("tool", good)] * 2)
    votes = [vote for vote in fixes_of(twice, {}) if vote.key == "lack:path"]

    once = merge_fixes((), votes)

    assert once == (Fix("rename", "file", "path", 1),)
    assert merge_fixes(once, votes) == (Fix("rename", "file", "path", 2),)
    assert fixes_from_json(fixes_to_json(once)) == once


def test_what_is_no_fix_is_refused() -> None:
    with pytest.raises(ValueError, match="not a fix"):
        fixes_from_json([{"action": "run", "field": "", "to": "rm", "trajectories": 9}])


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=12)
    | st.sampled_from(["a/b", "/s/a/b", "main", "1/2/2026"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=6,
)
arguments = st.dictionaries(st.sampled_from(["path", "day", "", "a.b"]), values, max_size=3)
calls = st.builds(call, st.sampled_from(["read", "open"]), arguments, st.sampled_from(["", "", NO, "Required at path"]))


@settings(deadline=None)
@given(st.lists(st.lists(calls, max_size=5), max_size=3), st.randoms(use_true_random=False))
def test_no_calls_make_fixes_raise_and_order_does_not_matter(lived: list[list[Any]], random: Any) -> None:
    tasks = [task(number, *steps) for number, steps in enumerate(lived)]
    shuffled = list(tasks)
    random.shuffle(shuffled)

    assert fixes_after(shuffled) == fixes_after(tasks)
