"""What a relay leaves behind for `status`."""

import json
from pathlib import Path

from rearview.config import Config
from rearview.recorder import PROBLEMS_LIMIT_BYTES, Recorder
from rearview.store.state import open_state


def test_a_full_file_of_problems_still_takes_the_newest(tmp_path: Path) -> None:
    state = open_state(tmp_path / "state")
    state.problems.write_bytes(b"\n" * PROBLEMS_LIMIT_BYTES)
    recorder = Recorder(Config(owner="me"), None, state, "files", (), lambda: "1-1")

    recorder.report("journal.unwritable", {"error": "no space"})

    assert [json.loads(line)["event"] for line in state.problems.read_bytes().splitlines()] == ["journal.unwritable"]
