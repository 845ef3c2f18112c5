"""A session warns of its own failures at once, and stops as soon as they may be over."""

import subprocess
import sys
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.learn.session_memory import SessionMemory
from rearview_interceptors.api import Call, Condition, Grade, Kind, Lesson, Reply

READ_ONLY = frozenset({"search", "list"})
MISSING = "Error: no such city: 'Atlantis'"
UNKNOWN = "Error: unknown format '20.05.2024' in field day"


def memory() -> SessionMemory:
    return SessionMemory(READ_ONLY.__contains__)


def call(tool: str = "search", *, at: float = 0.0, task: str = "t1", **arguments: Any) -> Call:
    digest = blake2b(repr((tool, sorted(arguments.items()))).encode(), digest_size=16).digest()
    return Call(1, "travel", tool, arguments, digest, at, task, False, {})


def failed(text: str = MISSING, kind: Kind | None = Kind.NOT_FOUND, grade: Grade = Grade.FLAGGED) -> Reply:
    return Reply(grade, kind, text, len(text), 0.01)


WORKED = Reply(Grade.OK, None, "fine", 4, 0.01)
HELD = Reply(Grade.UNKNOWN, None, "", 0, 0.0)


def brief(lesson: Lesson | None) -> tuple[Condition, str, int, bool] | None:
    return None if lesson is None else (lesson.condition, lesson.field, lesson.failed, lesson.loud)


EXACT = (Condition.SESSION_EXACT, "", 1, True)


def test_a_new_server_begins_with_a_clean_slate() -> None:
    session = memory()
    session.seen(call(city="Atlantis"), failed("no such city: Atlantis"))

    session.forget()

    assert session.lookup(call(city="Atlantis")) is None


def test_the_call_that_just_failed_is_loud_at_once() -> None:
    session = memory()
    session.seen(call(city="Atlantis"), failed("boom", Kind.OTHER))

    lesson = session.lookup(call(city="Atlantis"))

    key = f"exact:{call(city='Atlantis').digest.hex()}"
    assert lesson is not None
    assert lesson == Lesson(lesson.id, Condition.SESSION_EXACT, key, "", Kind.OTHER, 1, 1, 0.0, 0.97, True)
    assert session.lookup(call(city="Paris")) is None
    assert session.lookup(call("list", city="Atlantis")) is None


OUTSIDE = (Kind.NOT_FOUND, Kind.OTHER, Kind.PRECONDITION, Kind.FORBIDDEN)


def loud_at(session: SessionMemory, at: float, tool: str = "search") -> bool | None:
    lesson = session.lookup(call(tool, city="Atlantis", at=at))
    return None if lesson is None else lesson.loud


@pytest.mark.parametrize("kind", OUTSIDE)
def test_what_may_be_otherwise_by_now_is_loud_only_at_once_or_after_two_failures(kind: Kind) -> None:
    session = memory()
    slow = Reply(Grade.FLAGGED, kind, "boom", 4, 60.0)
    session.seen(call(city="Atlantis", at=0.0), slow)

    once = [loud_at(session, at) for at in (63.0, 70.0)]
    session.seen(call(city="Atlantis", at=70.0), slow)

    assert (once, loud_at(session, 600.0)) == ([True, False], True)


@pytest.mark.parametrize("kind", [Kind.ARGUMENT, Kind.UNKNOWN_TOOL])
def test_a_call_that_is_wrong_by_itself_stays_loud(kind: Kind) -> None:
    session = memory()
    session.seen(call(city="Atlantis", at=0.0), failed("boom", kind))

    assert loud_at(session, 600.0)


@pytest.mark.parametrize(("between", "loud"), [("list", True), ("build", False)])
@pytest.mark.parametrize("reply", [failed("exit code 1", Kind.OTHER), HELD], ids=["failed", "no outcome"])
def test_another_call_in_between_may_have_changed_something_unless_it_only_reads(
    reply: Reply, between: str, loud: bool
) -> None:
    session = memory()
    session.seen(call("test", city="Atlantis", at=0.0), failed("3 tests failed", Kind.OTHER))

    session.seen(call(between, at=1.0), reply)

    assert loud_at(session, 2.0, "test") is loud


def test_a_cause_that_is_loud_by_now_speaks_for_a_call_that_failed_once() -> None:
    session = memory()
    for number in range(2):
        session.seen(call(city="Atlantis", n=number), failed())

    lesson = session.lookup(call(city="Atlantis", n=0, at=600.0))

    assert brief(lesson) == (Condition.SESSION_GROUNDED, "city", 2, True)


def test_the_place_of_a_search_is_not_held_against_the_next_search_there() -> None:
    session = memory()
    error = "Could not find exact match for edit in file /w/a.py"
    for old in ("foo(1)", "bar"):
        session.seen(call("edit", path="/w/a.py", old=old, new="x"), failed(error))

    assert session.lookup(call("edit", path="/w/a.py", old="baz", new="x")) is None


def test_how_often_it_failed_is_counted() -> None:
    session = memory()
    for _ in range(3):
        session.seen(call(city="Atlantis"), failed())

    assert brief(session.lookup(call(city="Atlantis"))) == (Condition.SESSION_EXACT, "", 3, True)


def test_a_value_that_an_error_named_is_advice_in_another_call_and_loud_after_two_failures() -> None:
    session = memory()
    said = []

    for number in range(3):
        again = call(city="Atlantis", limit=number)
        said.append(brief(session.lookup(again)))
        session.seen(again, failed())

    grounded = Condition.SESSION_GROUNDED
    assert said == [None, (grounded, "city", 1, False), (grounded, "city", 2, True)]
    assert session.lookup(call(city="Paris", limit=1)) is None


def test_a_key_that_an_error_found_missing_is_missed_in_the_next_call_too() -> None:
    session = memory()
    session.seen(call(city="Paris"), failed("Invalid arguments: 'country' is a required property", Kind.ARGUMENT))

    lesson = session.lookup(call(city="Rome"))

    assert brief(lesson) == (Condition.SESSION_GROUNDED, "country", 1, False)
    assert session.lookup(call(city="Rome", country="IT")) is None


def test_the_same_call_is_forgotten_when_it_works() -> None:
    session = memory()
    session.seen(call(city="Atlantis"), failed())
    session.seen(call(city="Atlantis"), WORKED)

    assert session.lookup(call(city="Atlantis")) is None


def test_a_success_forgets_a_named_cause_only_if_the_call_had_it() -> None:
    session = memory()
    session.seen(call(city="Atlantis", n=1), failed())

    session.seen(call(city="Paris", n=2), WORKED)
    kept = brief(session.lookup(call(city="Atlantis", n=3)))
    session.seen(call(city="Atlantis", n=4), WORKED)

    assert kept == (Condition.SESSION_GROUNDED, "city", 1, False)
    assert session.lookup(call(city="Atlantis", n=3)) is None


def test_a_call_that_may_have_changed_something_ends_what_a_reading_call_leaves() -> None:
    session = memory()
    session.seen(call(city="Atlantis"), failed())

    session.seen(call("list"), WORKED)
    after_reading = brief(session.lookup(call(city="Atlantis")))
    session.seen(call("found_city", name="Atlantis"), WORKED)

    assert after_reading == EXACT
    assert session.lookup(call(city="Atlantis")) is None


def test_a_wrong_argument_stays_wrong_after_a_change_but_is_no_longer_loud() -> None:
    session = memory()
    for number in range(2):
        session.seen(call(day="20.05.2024", n=number), failed(UNKNOWN, Kind.ARGUMENT))
    before = brief(session.lookup(call(day="20.05.2024", n=7)))

    session.seen(call("book"), WORKED)

    after = brief(session.lookup(call(day="20.05.2024", n=7)))
    assert (before, after) == (
        (Condition.SESSION_GROUNDED, "day", 2, True),
        (Condition.SESSION_GROUNDED, "day", 1, False),
    )


def test_what_depends_on_the_world_is_never_held_against_a_call() -> None:
    for kind in (Kind.TRANSIENT, Kind.RATE_LIMITED, Kind.ENVIRONMENT):
        session = memory()
        session.seen(call(city="Atlantis"), failed(kind=kind))

        assert session.lookup(call(city="Atlantis")) is None


def test_nothing_found_is_advice_for_the_very_same_call_only() -> None:
    session = memory()
    session.seen(call(city="Atlantis"), failed("No results for 'Atlantis'", Kind.EMPTY))

    assert brief(session.lookup(call(city="Atlantis"))) == (Condition.SESSION_EXACT, "", 1, False)
    assert session.lookup(call(city="Atlantis", limit=5)) is None


def test_what_is_no_outcome_changes_nothing() -> None:
    session = memory()
    session.seen(call(city="Paris"), HELD)
    session.seen(call(city="Atlantis"), failed())
    session.seen(call(city="Atlantis"), HELD)

    assert session.lookup(call(city="Paris")) is None
    assert brief(session.lookup(call(city="Atlantis"))) == EXACT


def fail_in_turn(session: SessionMemory, calls: list[Call], text: str, kind: Kind) -> list[Any]:
    said = []
    for each in calls:
        said.append(brief(session.after_failure(each, failed(text, kind))))
        session.seen(each, failed(text, kind))
    return said


def test_the_third_failure_of_its_like_is_a_loop() -> None:
    calls = [call(q=f"query number {n}") for n in range(4)]

    said = fail_in_turn(memory(), calls, "Error: server is busy", Kind.TRANSIENT)

    loop = Condition.SESSION_LOOP
    assert said == [None, None, (loop, "", 3, False), (loop, "", 4, False)]


def test_a_loop_ends_with_the_task_and_with_a_success_of_the_tool() -> None:
    first, second, third = (call(q=f"query number {n}") for n in range(3))
    elsewhere = call(q="query number 9", task="t2")
    by_task, by_success = memory(), memory()

    said = fail_in_turn(by_task, [first, second, elsewhere], "Error: server is busy", Kind.TRANSIENT)
    said += fail_in_turn(by_success, [first, second], "Error: server is busy", Kind.TRANSIENT)
    by_success.seen(call(q="works"), WORKED)
    said += fail_in_turn(by_success, [third], "Error: server is busy", Kind.TRANSIENT)

    assert said == [None] * 6


def test_a_failure_whose_cause_was_named_before_gets_a_hint() -> None:
    said = fail_in_turn(
        memory(), [call(city="Atlantis", n=1), call(city="Atlantis", n=2)], MISSING, Kind.NOT_FOUND
    )  # fmt: skip

    assert said == [None, (Condition.SESSION_GROUNDED, "city", 1, False)]


def test_a_new_task_keeps_the_failures_of_the_last_half_hour() -> None:
    session = memory()
    session.seen(call(city="Atlantis", at=100.0), failed())

    said = [brief(session.lookup(call(city="Atlantis", at=at, task="t2"))) for at in (101.0, 1900.0, 1901.0)]
    advice = (Condition.SESSION_EXACT, "", 1, False)
    other = [brief(session.lookup(call(city="Atlantis", n=1, at=at, task="t2"))) for at in (1900.0, 1901.0)]

    assert said == [EXACT, advice, None]
    assert other == [(Condition.SESSION_GROUNDED, "city", 1, False), None]


def test_the_oldest_failures_make_room_for_new_ones() -> None:
    session = memory()
    for number in range(257):
        session.seen(call(q=number), failed("boom", Kind.OTHER))
    calls = [brief(session.lookup(call(q=number))) for number in (0, 1, 256)]
    for number in range(256):
        session.seen(call(f"tool-{number}", q=1), failed("boom", Kind.ARGUMENT))
    tools = [brief(session.lookup(each)) for each in (call(q=256), call("tool-0", q=1), call("tool-255", q=1))]

    assert calls == [None, EXACT, EXACT]
    assert tools == [None, EXACT, EXACT]


values = st.sampled_from(["Atlantis", "Paris", 3, None, ["x"], {"y": 1}])
replies = st.sampled_from(
    [
        WORKED,
        HELD,
        failed(),
        failed(UNKNOWN, Kind.ARGUMENT),
        failed("", None, Grade.HARD),
        failed("\ud800", Kind.EMPTY),
    ]
)
steps = st.tuples(
    st.sampled_from(["search", "book", "list"]),
    st.dictionaries(st.sampled_from(["city", "day", "q"]), values, max_size=3),
    replies,
    st.sampled_from(["t1", "t2"]),
    st.floats(0, 5000),
)


@settings(deadline=None)
@given(st.lists(steps, max_size=25))
def test_a_success_always_silences_its_own_call(history: list[Any]) -> None:
    session = memory()
    for tool, arguments, reply, task, at in history:
        each = call(tool, at=at, task=task, **arguments)
        session.lookup(each)
        if reply.failed:
            session.after_failure(each, reply)
        session.seen(each, reply)

        assert reply is not WORKED or session.lookup(each) is None


def test_a_session_without_failures_has_not_loaded_what_reads_errors() -> None:
    program = (
        "import sys; from rearview.learn.session_memory import SessionMemory; SessionMemory(bool);"
        "print([m for m in sys.modules if m.startswith('rearview.learn.')])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)

    assert done.stdout == "['rearview.learn.session_memory']\n"
