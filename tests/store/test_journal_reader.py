"""Reading journals that somebody still writes."""

import fcntl
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.store import journal_reader
from rearview.store.journal_reader import is_live, journal_files, read_lines, remove_finished


def test_files_come_oldest_relay_first_and_its_parts_in_order(tmp_path: Path) -> None:
    names = ["999-7-b.jsonl", "1000-7-a.jsonl", "1000-7-a.1.jsonl", "1000-7-a.2.jsonl", "1000-7-a.10.jsonl"]
    for name in [*reversed(names), "x-7-a.jsonl", "1000-7-a.x.jsonl", "1000-7.jsonl", "lessons.rvt"]:
        (tmp_path / name).touch()

    assert [path.name for path in journal_files(tmp_path)] == names
    assert journal_files(tmp_path / "missing") == []


def test_a_line_is_read_when_its_newline_is_there(tmp_path: Path) -> None:
    path = tmp_path / "1-1-a.jsonl"
    path.write_bytes(b"one\n\ntwo\nthr")

    read = list(read_lines(path, 0))
    with path.open("ab") as file:
        file.write(b"ee\n")

    assert read == [(4, b"one"), (9, b"two")]
    assert list(read_lines(path, 9)) == [(15, b"three")]


@settings(deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=40).map(lambda line: line.replace(b"\n", b" "))), st.integers(1, 50))
def test_any_block_size_and_any_stop_give_the_same_lines(
    tmp_path_factory: object, lines: list[bytes], block: int
) -> None:
    path = Path(tmp_path_factory.mktemp("journal") / "1-1-a.jsonl")  # type: ignore[attr-defined]  # pytest's own
    path.write_bytes(b"".join(line + b"\n" for line in lines) + b"torn")
    usual = journal_reader._BLOCK_BYTES
    journal_reader._BLOCK_BYTES = block
    try:
        whole = list(read_lines(path))
        stops = [0, *(offset for offset, _ in whole)]
        resumed = [list(read_lines(path, stop)) for stop in stops]
    finally:
        journal_reader._BLOCK_BYTES = usual

    assert [line for _, line in whole] == lines
    assert resumed == [whole[done:] for done in range(len(whole) + 1)]


def test_a_file_is_live_and_kept_while_somebody_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "1-1-a.jsonl"
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert (is_live(path), remove_finished(path), path.exists()) == (True, False, True)

    assert (is_live(path), remove_finished(path), path.exists()) == (False, True, False)
    assert (is_live(path), remove_finished(path)) == (False, True)
