"""How commands print."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.cli.render import Output, one_line, safe, when


def test_plain_tables_line_up_and_keep_one_row_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    Output(plain=True).table(("tool", "ms"), [("read", 1), ("list\nall", 120)], title="Calls")

    assert capsys.readouterr().out == "Calls\ntool      ms\nread      1\nlist all  120\n"


def test_a_table_without_rows_is_its_names(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(("tool", "ms"), [])

    assert capsys.readouterr().out == "tool  ms\n"


def test_a_terminal_gets_boxes_and_the_same_words(tmp_path: Path) -> None:
    code = (
        "from rearview.cli.render import Output; out = Output();"
        "out.table(('tool', 'ms'), [('[red]read', '12')], title='Calls'); out.panel('title', 'words');"
        "out.line('end', 'red')"
    )
    parent, child = pty.openpty()

    subprocess.run(
        [sys.executable, "-I", "-c", code], stdout=child, check=True, env={"TERM": "xterm-256color", "COLUMNS": "80"}
    )
    told = os.read(parent, 65536).decode()
    os.close(parent)
    os.close(child)

    assert "[red]read" in told
    assert "─" in told
    assert "\x1b[31mend" in told


@settings(deadline=None)
@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left_in_a_text(text: str) -> None:
    assert all(char.isprintable() or char == "\n" for char in safe(text))


def test_a_text_on_one_line_says_that_it_was_cut() -> None:
    assert [one_line("a\n  b", 9), one_line("abcdef", 4)] == ["a b", "abc…"]


@pytest.mark.parametrize(
    ("age", "words"),
    [(0, "0 s ago"), (59, "59 s ago"), (90, "2 min ago"), (7200, "2 h ago"), (300_000, "3 d ago"), (-5, "0 s ago")],
)
def test_an_age_is_said_in_its_largest_unit(age: float, words: str) -> None:
    assert when(1_000_000.0 - age, 1_000_000.0) == words


def test_a_moment_that_never_was_is_said_so() -> None:
    assert when(0.0, 1_000_000.0) == "never"
