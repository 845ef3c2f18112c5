from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.core.framing import LineSplitter, Piece


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=20))
@settings(deadline=None)
def test_any_chunking_gives_the_same_lines(stream: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})

    lines = [line for start, end in pairwise(edges) for line in splitter.receive(stream[start:end])]

    assert lines == [part + b"\n" for part in stream.split(b"\n")[:-1]]
    assert splitter.rest() == stream.split(b"\n")[-1]


def test_only_a_newline_ends_a_line() -> None:
    text = "a\r\x0b\x0c\x1c\x85\u2028\u2029b".encode()

    assert LineSplitter().receive(text + b"\r\nc") == [text + b"\r\n"]


def test_an_endless_line_comes_in_pieces_and_the_next_line_whole() -> None:
    splitter = LineSplitter(limit=5)

    parts = [part for data in (b"abc", b"def", b"g", b"h\nij", b"k\n") for part in splitter.receive(data)]

    assert parts == [b"abcdef", b"g", b"h\n", b"ijk\n"]
    assert [type(part) is Piece for part in parts] == [True, True, True, False]


def test_a_line_of_the_limit_in_one_piece_passes() -> None:
    assert LineSplitter(limit=5).receive(b"abcde\n") == [b"abcde\n"]
