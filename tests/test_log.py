"""The learner's log file, and the relay's reports."""

import json
from pathlib import Path

import pytest

from rearview.log import LogFile, learner_log, report


def test_a_full_log_begins_anew_and_one_old_file_is_kept(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "learner.log", limit=100)

    for number in range(30):
        log.msg(f"line {number:02}")
    log.close()

    kept = [path.name for path in sorted(tmp_path.iterdir())]
    lines = [line for path in sorted(tmp_path.iterdir(), reverse=True) for line in path.read_text().splitlines()]
    assert kept == ["learner.log", "learner.log.1"]
    assert lines == [f"line {number:02}" for number in range(30)][-len(lines) :]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_log_that_can_not_be_written_loses_lines_and_counts_them(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "no" / "such" / "folder")

    log.msg("x")

    assert log.lost == 1


def test_events_are_json_lines_with_their_level_and_time(tmp_path: Path) -> None:
    target = LogFile(tmp_path / "learner.log")

    learner_log(target).warning("store.unusable", reason="full")
    target.close()

    line = json.loads((tmp_path / "learner.log").read_text())
    assert {name: line[name] for name in ("event", "level", "reason")} == {
        "event": "store.unusable",
        "level": "warning",
        "reason": "full",
    }
    assert line["timestamp"].endswith("Z")


def test_a_report_is_one_line_on_standard_error_whatever_is_in_it(capfd: pytest.CaptureFixture[str]) -> None:
    report("journal.full", {"path": Path("/a"), "text": "two\nlines \ud800"})

    line = capfd.readouterr().err
    assert (line.count("\n"), json.loads(line)["rearview"]) == (1, "journal.full")
