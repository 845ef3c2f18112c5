import pytest

from rearview.core.message import exact_id, id_key, look, look_at_batch, may_be_message


@pytest.mark.parametrize(
    ("line", "body"),
    [
        (b'{"id":1}\n', {"id": 1}),
        (b' {"id":"1"} \r\n', {"id": "1"}),
        (b'{"a":"x\\ud83d"}', {"a": "x\ud83d"}),
        (b"[1]", None),
        (b"7", None),
        (b"{oops}", None),
        (b"\xff\xfe{}", None),
        (b"[" * 5000, None),
        (b'{"a":' + b"[" * 5000 + b"}", None),
    ],
)
def test_a_look_reads_objects_and_nothing_else(line: bytes, body: object) -> None:
    assert look(line) == body


def test_a_thirty_digit_id_keeps_its_digits() -> None:
    line = b'{"id":123456789012345678901234567890}'
    body = look(line)

    assert body is not None
    assert exact_id(line, body["id"]) == 123456789012345678901234567890


def test_ids_of_different_types_are_different() -> None:
    keys = [id_key(each) for each in (7, "7", 7.0, True, 1, None, "None")]

    assert len(set(keys)) == len(keys)


def test_a_batch_is_read_message_by_message() -> None:
    assert look_at_batch(b'[{"id":1},7,{"id":2}]') == [{"id": 1}, {"id": 2}]
    assert look_at_batch(b"[oops") == []
    assert look_at_batch(b'{"id":1}') == []


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b'{"jsonrpc":"2.0"}', True),
        (b"  {broken", True),
        (b'[{"id":1}]', True),
        (b" [ ]", True),
        (b"[ {", True),
        (b"[INFO] ready", False),
        (b"[2026-01-01] ready", False),
        (b"Server running", False),
        (b"\n", False),
        (b"", False),
    ],
)
def test_a_banner_is_told_from_a_message(line: bytes, answer: bool) -> None:
    assert may_be_message(line) is answer
