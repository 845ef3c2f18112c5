"""Where one task ends and the next begins."""

import random
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.learn.segment import RelayLife, Surroundings, root_of, segment, trace_id_of

IDLE = 300.0


@dataclass(frozen=True)
class Tick:
    """As much of a call as cutting needs."""

    relay: str
    seq: int
    at: float
    ms: float = 0.0
    owner: str = "ann"
    client: str = "1-x"
    task_ref: str = ""


def live(*relays: str, started: float = 0.0) -> dict[str, RelayLife]:
    return {relay: RelayLife(started, started, live=True) for relay in relays}


def shape(ticks: list[Tick], around: Surroundings) -> list[tuple[list[tuple[str, int]], bool]]:
    return [([(step.relay, step.seq) for step in task.steps], task.finished) for task in segment(ticks, around)]


def test_calls_of_all_relays_of_one_client_are_one_task_in_time_order() -> None:
    ticks = [Tick("b", 1, 3.0), Tick("a", 1, 1.0), Tick("a", 2, 5.0), Tick("c", 1, 4.0, client="2-y")]

    cut = shape(ticks, Surroundings(6.0, live("a", "b", "c")))

    assert cut == [([("a", 1), ("b", 1), ("a", 2)], False), ([("c", 1)], False)]


def test_owners_are_kept_apart_even_when_their_clients_look_alike() -> None:
    cut = shape([Tick("a", 1, 1.0), Tick("b", 1, 1.0, owner="bob")], Surroundings(2.0, live("a", "b")))

    assert cut == [([("a", 1)], False), ([("b", 1)], False)]


def test_an_idle_gap_ends_a_task() -> None:
    ticks = [Tick("a", 1, 0.0, ms=10_000.0), Tick("a", 2, 309.0), Tick("a", 3, 610.0)]

    assert shape(ticks, Surroundings(700.0, live("a"))) == [([("a", 1), ("a", 2)], True), ([("a", 3)], False)]
    assert shape(ticks, Surroundings(911.0, live("a"))) == [([("a", 1), ("a", 2)], True), ([("a", 3)], True)]


def test_the_next_named_task_of_the_same_client_ends_a_task() -> None:
    ticks = [Tick("a", 1, 1.0), Tick("a", 2, 2.0, task_ref="t:1"), Tick("b", 1, 3.0), Tick("a", 3, 4.0, task_ref="t:2")]

    cut = shape(ticks, Surroundings(5.0, live("a", "b")))

    assert cut == [([("a", 1)], True), ([("a", 2), ("b", 1)], True), ([("a", 3)], False)]


def test_a_task_that_was_just_ended_by_an_event_settles_first() -> None:
    ticks = [Tick("a", 1, 1.0, task_ref="t:1"), Tick("a", 2, 2.0, task_ref="t:2")]

    assert shape(ticks, Surroundings(2.1, live("a"))) == [([("a", 1)], False), ([("a", 2)], False)]
    assert shape(ticks, Surroundings(2.1, live("a"), settle_s=0.0)) == [([("a", 1)], True), ([("a", 2)], False)]


def test_two_named_tasks_side_by_side_stay_two_tasks() -> None:
    ticks = [Tick("a", seq, float(seq), task_ref=f"t:{seq % 2}") for seq in range(1, 6)]

    cut = shape(ticks, Surroundings(6.0, live("a")))

    assert cut == [([("a", 1), ("a", 3), ("a", 5)], False), ([("a", 2), ("a", 4)], False)]


def test_a_task_ends_when_all_relays_that_took_part_have_ended() -> None:
    one_left = {"a": RelayLife(0.0, 1.0, ended_at=3.0), **live("b", "c")}
    none_left = {"a": RelayLife(0.0, 1.0, ended_at=3.0), "b": RelayLife(0.0, 2.0), **live("c")}
    ticks = [Tick("a", 1, 1.0), Tick("b", 1, 2.0)]

    assert shape(ticks, Surroundings(4.0, one_left)) == [([("a", 1), ("b", 1)], False)]
    assert shape(ticks, Surroundings(4.0, none_left)) == [([("a", 1), ("b", 1)], True)]
    assert shape(ticks, Surroundings(3.1, none_left)) == [([("a", 1), ("b", 1)], False)]


def test_sessions_of_one_client_one_after_the_other_are_tasks_of_their_own() -> None:
    ended = {"a": RelayLife(0.0, 2.0, ended_at=2.5), "b": RelayLife(3.0, 4.0, ended_at=4.5), "c": RelayLife(5.0, 6.0)}
    killed = {"a": RelayLife(0.0, 2.0), "b": RelayLife(3.0, 4.0), "c": RelayLife(5.0, 6.0)}
    ticks = [Tick("a", 1, 1.0), Tick("a", 2, 2.0), Tick("b", 1, 4.0), Tick("c", 1, 6.0)]
    expected = [([("a", 1), ("a", 2)], True), ([("b", 1)], True), ([("c", 1)], True)]

    assert shape(ticks, Surroundings(9.0, ended)) == expected
    assert shape(ticks, Surroundings(9.0, killed)) == expected


def test_relays_that_ran_side_by_side_and_were_killed_share_their_task() -> None:
    killed = {"a": RelayLife(0.0, 1.0), "b": RelayLife(0.1, 5.0)}

    cut = shape([Tick("a", 1, 1.0), Tick("b", 1, 5.0)], Surroundings(9.0, killed))

    assert cut == [([("a", 1), ("b", 1)], True)]


def test_a_client_that_is_gone_ends_its_tasks_and_so_does_being_told_that_all_have_ended() -> None:
    ticks = [Tick("a", 1, 1.0), Tick("b", 1, 1.0, client="2-y")]

    gone = shape(ticks, Surroundings(2.0, live("a", "b"), gone_clients=frozenset({"2-y"})))
    all_ended = shape(ticks, Surroundings(2.0, live("a", "b"), all_ended=True))

    assert gone == [([("a", 1)], False), ([("b", 1)], True)]
    assert all_ended == [([("a", 1)], True), ([("b", 1)], True)]


def test_a_task_of_a_client_that_never_rests_is_cut_at_the_largest_size() -> None:
    cut = segment([Tick("a", seq, seq / 10) for seq in range(1, 2002)], Surroundings(201.0, live("a")))

    assert [(len(task.steps), task.finished) for task in cut] == [(2000, True), (1, False)]


def test_the_root_is_shared_by_the_trajectories_of_one_named_task_only() -> None:
    assert root_of("ann", "1-x", "t:1", "first") == root_of("ann", "1-x", "t:1", "second")
    assert root_of("ann", "1-x", "t:1", "first") != root_of("ann", "2-y", "t:1", "first")
    assert root_of("ann", "1-x", "", "first") == "first"


ticks_of_eight_relays = st.lists(
    st.builds(
        Tick,
        relay=st.sampled_from([f"r{number}" for number in range(8)]),
        seq=st.integers(1, 10_000),
        at=st.floats(0, 4_000),
        ms=st.floats(0, 90_000),
        client=st.sampled_from(["1-x", "2-y"]),
        task_ref=st.sampled_from(["", "", "t:1", "t:2"]),
    ),
    unique_by=lambda tick: (tick.relay, tick.seq),
    max_size=40,
)
lives_of_eight_relays = st.fixed_dictionaries(
    {
        f"r{number}": st.builds(
            RelayLife,
            started=st.floats(0, 2_000),
            last_sign=st.floats(2_000, 4_000),
            ended_at=st.none() | st.floats(0, 4_000),
            live=st.booleans(),
        )
        for number in range(8)
    }
)


@given(ticks_of_eight_relays, lives_of_eight_relays, st.randoms(use_true_random=False), st.floats(4_000, 5_000))
@settings(deadline=None)
def test_any_order_of_arrival_gives_the_same_tasks_and_every_call_is_in_one(
    ticks: list[Tick], lives: dict[str, RelayLife], dice: random.Random, now: float
) -> None:
    around = Surroundings(now, lives, idle_gap_s=IDLE)
    shuffled = list(ticks)
    dice.shuffle(shuffled)

    tasks = segment(ticks, around)

    assert segment(shuffled, around) == tasks
    assert sorted((step.relay, step.seq) for task in tasks for step in task.steps) == sorted(
        (tick.relay, tick.seq) for tick in ticks
    )
    assert len({trace_id_of(task.steps[0]) for task in tasks}) == len(tasks)
