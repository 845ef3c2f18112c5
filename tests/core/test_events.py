import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rearview.core.events import Event, EventReader, with_data

STREAM = (
    b': hello\n\nevent: message\ndata: {"a":1}\n\nid: 7\r\ndata: x\r\ndata:y\r\n\r\nretry: 5\r\rdata\n\n'
    b"event: endpoint\ndata: /m?s=1\n\n"
)
EVENTS = [
    (b"message", b""),
    (b"message", b'{"a":1}'),
    (b"message", b"x\ny"),
    (b"message", b""),
    (b"message", b""),
    (b"endpoint", b"/m?s=1"),
]


def read(parts: list[bytes]) -> list[Event]:
    reader = EventReader()
    return [event for part in parts for event in reader.receive(part)]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_chunking_gives_the_same_events_and_loses_no_byte(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]

    events = read([STREAM[start:end] for start, end in pairwise(places)])

    assert [(event.kind, event.data) for event in events] == EVENTS
    assert b"".join(event.raw for event in events) == STREAM


def test_it_knows_whether_an_event_has_begun() -> None:
    reader = EventReader()
    states = []
    for part in (b"data: 1\n\n", b"data:", b" 2\n", b"\n"):
        reader.receive(part)
        states.append((reader.is_between, reader.waiting))

    assert states == [(True, 0), (False, 5), (False, 8), (True, 0)]


def test_the_data_of_one_line_is_replaced_and_nothing_else() -> None:
    event = read([b'id: 1\r\nevent: message\r\ndata:{"a":1}\r\n\r\n'])[0]

    assert event.is_single
    assert (
        with_data(event, json.dumps({"b": 2}).encode() + b"\n") == b'id: 1\r\nevent: message\r\ndata:{"b": 2}\r\n\r\n'
    )


def test_ids_and_times_to_come_back_are_told() -> None:
    stream = b"id: 7\nretry: 50\ndata:\n\nid\n\nretry: soon\n\nid: a\0b\ndata: x\n\n"

    found = [(event.id, event.retry_ms, event.data) for event in EventReader().receive(stream)]

    assert found == [(b"7", 50, b""), (b"", None, b""), (None, None, b""), (None, None, b"x")]
