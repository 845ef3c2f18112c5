"""What became of the things that were said."""

import json
from typing import Any

from fixtures.journals import call_line, failed_line
from rearview.learn.effects import Effect, effects_of
from rearview.learn.model import CallRecord
from rearview.learn.segment import trajectory_of
from rearview.store.journal_records import record_of


def call(seq: int, channel: str = "", *, failed: bool = False, **fields: Any) -> CallRecord:
    said = {"channel": channel, "lesson": "ab"} if channel else None
    record = record_of((failed_line if failed else call_line)("r1", seq, float(seq), said=said, **fields))
    assert isinstance(record, CallRecord), json.dumps(fields)
    return record


def test_the_next_call_of_the_same_tool_tells_whether_a_hold_or_a_hint_was_heeded_and_helped() -> None:
    held, other, better = call(1, "hold", grade="unknown"), call(2, tool="write"), call(3)
    hinted, same = call(4, "hint", failed=True), call(5, failed=True)

    effects = effects_of(trajectory_of([held, other, better, hinted, same]))

    assert effects == [Effect(held, changed=True, succeeded=True), Effect(hinted, changed=False, succeeded=False)]


def test_a_call_that_ran_as_it_was_tells_itself() -> None:
    repeated, left, muted = call(1, "repeat"), call(2, "control", failed=True), call(3, "silent")

    effects = effects_of(trajectory_of([repeated, left, muted]))

    assert effects == [
        Effect(repeated, changed=False, succeeded=True),
        Effect(left, changed=None, succeeded=False),
        Effect(muted, changed=None, succeeded=True),
    ]


def test_nothing_is_claimed_where_nothing_followed() -> None:
    held = call(1, "hold", grade="unknown")

    assert effects_of(trajectory_of([held])) == [Effect(held, changed=None, succeeded=None)]
