"""Journal lines of any make: read, or passed over."""

import json
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, create_engine

from fixtures.journals import call_line
from rearview.store import ledger_intake
from rearview.store.journal_records import Unreadable, record_of
from rearview.store.ledger_intake import Batch
from rearview.store.migrations import migrate

NOW = 1_700_000_000.0


@given(st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(str).map(str.encode))
@settings(deadline=None)
def test_no_line_makes_the_reader_raise(data: bytes) -> None:
    assert isinstance(record_of(data), Unreadable)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


any_fields = st.dictionaries(
    st.sampled_from(["seq", "at", "ms", "owner", "tool", "arguments", "grade", "kind", "said", "env"]), json_values
)


@given(any_fields)
@settings(deadline=None)
def test_a_call_with_any_fields_is_either_unreadable_or_can_be_stored(fields: dict[str, Any]) -> None:
    body = {**json.loads(call_line("r1", 2, NOW)), **fields}

    with ledger_in_memory().connect() as connection:
        taken = ledger_intake.take(connection, Batch("1-1-r1.jsonl", 0, ((1, record_of(json.dumps(body).encode())),)))

    assert (taken.calls, len(taken.unreadable)) in ((1, 0), (0, 1))


@cache
def ledger_in_memory() -> Engine:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        migrate(connection, "memory")
    return engine
