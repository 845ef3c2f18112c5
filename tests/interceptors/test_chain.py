"""What the chain asks, and what an interceptor can't do to the conversation."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview_interceptors import Call, Condition, Grade, Hint, Hold, Interceptor, Kind, Lesson, Reply, Said
from rearview_interceptors.chain import FAILURES_TO_OFF, LATE_SECONDS, LATE_TO_OFF, Chain

CALL = Call(1, "files", "read", {"path": "a"}, b"d" * 16, 0.0, "task", False, {})
REPLY = Reply(Grade.FLAGGED, Kind.NOT_FOUND, "no such file", 40, 0.01)
LESSON = Lesson("l1", Condition.EXACT, "exact:00", "path", Kind.NOT_FOUND, 2, 2, 0.0, 0.9, True)
SAID = Said("hint", "l1")


@dataclass
class Heard:
    """A report that remembers what it heard."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, event: str, fields: dict[str, Any]) -> None:
        self.events.append((event, fields))


@dataclass
class Clock:
    """A clock that interceptors of these tests move."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Speaks(Interceptor):
    """Has a verdict for everything."""

    def __init__(self) -> None:
        self.asked = 0

    def on_request(self, call: Call) -> Hold | None:
        self.asked += 1
        return Hold(LESSON)

    def on_response(self, call: Call, reply: Reply) -> Hint | None:
        return Hint(LESSON)


class Broken(Interceptor):
    """Raises, in the hooks that it overrides, or answers nonsense."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error
        self.asked = 0

    def on_request(self, call: Call) -> Hold | None:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return "held"  # type: ignore[return-value]  # a stranger's interceptor is not type-checked


@dataclass
class Slow(Interceptor):
    """Moves the clock by its next duration."""

    clock: Clock
    takes: list[float]
    asked: int = 0

    def on_request(self, call: Call) -> Hold | None:
        self.clock.now += self.takes[self.asked % len(self.takes)]
        self.asked += 1
        return None


@dataclass
class Watches(Interceptor):
    """Remembers what is over."""

    seen: list[tuple[Call, Reply, Said | None]] = field(default_factory=list)

    def on_finished(self, call: Call, reply: Reply, said: Said | None) -> None:
        self.seen.append((call, reply, said))


def test_the_first_verdict_wins_and_the_others_are_not_asked() -> None:
    first, second = Speaks(), Speaks()
    chain = Chain([Watches(), first, second], Clock(), Heard())

    assert chain.on_request(CALL) == Hold(LESSON)
    assert chain.on_response(CALL, REPLY) == Hint(LESSON)
    assert (first.asked, second.asked) == (1, 0)


def test_everyone_hears_that_a_call_is_over() -> None:
    first, second = Watches(), Watches()

    Chain([first, Speaks(), second], Clock(), Heard()).on_finished(CALL, REPLY, SAID)

    assert first.seen == second.seen == [(CALL, REPLY, SAID)]


def test_hooks_that_nobody_overrides_are_not_called_and_read_no_clock() -> None:
    def no_clock() -> float:
        raise AssertionError

    chain = Chain([Interceptor(), Watches()], no_clock, Heard())

    assert chain.on_request(CALL) is None
    assert chain.on_response(CALL, REPLY) is None


@pytest.mark.parametrize("error", [ValueError("no"), None])
def test_a_broken_interceptor_lets_the_call_pass_and_is_switched_off(error: Exception | None) -> None:
    broken, heard = Broken(error), Heard()
    chain = Chain([broken, Speaks()], Clock(), heard)

    assert [chain.on_request(CALL) for _ in range(10)] == [Hold(LESSON)] * 10
    assert broken.asked == FAILURES_TO_OFF
    said = "ValueError" if error else "returned str"
    assert heard.events == [
        ("interceptor.failed", {"interceptor": "Broken", "error": said}),
        ("interceptor.off", {"interceptor": "Broken", "why": "failures"}),
    ]


def test_what_is_no_error_of_an_interceptor_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        Chain([Broken(KeyboardInterrupt())], Clock(), Heard()).on_request(CALL)


def test_an_interceptor_that_keeps_being_late_is_switched_off_and_the_one_beside_it_is_not() -> None:
    clock, heard = Clock(), Heard()
    slow, quick = Slow(clock, [2 * LATE_SECONDS]), Slow(clock, [LATE_SECONDS / 10])
    chain = Chain([quick, slow], clock, heard)

    for _ in range(LATE_TO_OFF + 5):
        chain.on_request(CALL)

    assert (slow.asked, quick.asked) == (LATE_TO_OFF, LATE_TO_OFF + 5)
    assert heard.events == [
        ("interceptor.late", {"interceptor": "Slow", "ms": 4.0}),
        ("interceptor.off", {"interceptor": "Slow", "why": "late"}),
    ]


def test_what_is_our_own_stays_however_busy_the_machine_is() -> None:
    clock, heard = Clock(), Heard()
    ours = Slow(clock, [2 * LATE_SECONDS])
    chain = Chain([], clock, heard, ours=[ours])

    for _ in range(3 * LATE_TO_OFF):
        chain.on_request(CALL)

    assert ours.asked == 3 * LATE_TO_OFF
    assert heard.events == []


def test_an_interceptor_that_is_late_now_and_then_stays() -> None:
    clock, heard = Clock(), Heard()
    slow = Slow(clock, [2 * LATE_SECONDS, 2 * LATE_SECONDS, 0.0])
    chain = Chain([slow], clock, heard)

    for _ in range(10 * LATE_TO_OFF):
        chain.on_request(CALL)

    assert (slow.asked, heard.events) == (10 * LATE_TO_OFF, [])


def test_a_report_that_fails_disturbs_nobody() -> None:
    def report(event: str, fields: dict[str, Any]) -> None:
        raise OSError(event, fields)

    chain = Chain([Broken(ValueError()), Speaks()], Clock(), report)

    assert [chain.on_request(CALL) for _ in range(5)] == [Hold(LESSON)] * 5


@settings(deadline=None)
@given(st.lists(st.sampled_from(["raise", "nonsense", "slow", "speak", "watch"]), max_size=6), st.integers(1, 30))
def test_no_mixture_of_interceptors_makes_the_chain_raise_or_hides_a_verdict(mixture: list[str], times: int) -> None:
    clock = Clock()
    made = {
        "raise": lambda: Broken(RuntimeError()),
        "nonsense": lambda: Broken(None),
        "slow": lambda: Slow(clock, [1.0]),
        "speak": Speaks,
        "watch": Watches,
    }
    chain = Chain([made[name]() for name in mixture], clock, Heard())

    for _ in range(times):
        assert chain.on_request(CALL) == (Hold(LESSON) if "speak" in mixture else None)
        chain.on_finished(CALL, REPLY, None)
