"""The demo server answers as a server of the Python SDK does."""

import sys
from pathlib import Path
from typing import Any

import pytest

from rearview.demo.client import Answer, Client
from rearview.demo.office import Office
from rearview.demo.server import answer
from rearview.errors import PeerError

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def office(root: Path) -> Office:
    return Office(root, lambda tool, arguments: None)


def ask(root: Path, method: str, params: dict[str, Any]) -> Any:
    return answer(office(root), {"jsonrpc": "2.0", "id": 7, "method": method, "params": params})


def test_a_missing_field_a_wrong_date_and_a_relative_path_fail_with_the_words_of_the_sdk(tmp_path: Path) -> None:
    calls = [
        ("append_note", {"file": str(tmp_path / "a.md"), "text": "x"}),
        ("book_room", {"room": "Blue", "date": "24.12.2026"}),
        ("read_file", {"path": "notes/a.md"}),
    ]

    results = [
        ask(tmp_path, "tools/call", {"name": tool, "arguments": arguments})["result"] for tool, arguments in calls
    ]

    assert [result["isError"] for result in results] == [True, True, True]
    texts = [result["content"][0]["text"] for result in results]
    assert texts[0].startswith(
        "Error executing tool append_note: 1 validation error for append_noteArguments\npath\n  Field required ["
    )
    assert "input_value='24.12.2026', input_type=str]" in texts[1]
    assert texts[2] == (
        "Error executing tool read_file: Access denied - path outside allowed directories: "
        f"notes/a.md not in {tmp_path.resolve()}"
    )


@pytest.mark.parametrize("params", [{}, MODERN])
def test_only_the_modern_generation_gets_a_result_type(tmp_path: Path, params: dict[str, Any]) -> None:
    methods = ["tools/list", "tools/call", "server/discover"]

    results = [ask(tmp_path, method, {"name": "list_rooms", **params})["result"] for method in methods]

    assert ["resultType" in result for result in results] == [bool(params)] * 3


def test_unknown_tools_and_methods_are_errors_and_notifications_stay_unanswered(tmp_path: Path) -> None:
    replies = [ask(tmp_path, "tools/call", {"name": "fly"}), ask(tmp_path, "tools/fly", {})]

    assert [reply["error"]["code"] for reply in replies] == [-32602, -32601]
    assert answer(office(tmp_path), {"jsonrpc": "2.0", "method": "notifications/initialized"}) is None


def test_the_scripted_client_holds_a_whole_session_and_the_server_logs_each_call(tmp_path: Path) -> None:
    log = tmp_path / "calls.log"
    note = tmp_path / "note.md"
    command = [sys.executable, "-I", "-m", "rearview.demo.server", str(tmp_path), str(log)]

    with Client(command, {}) as client:
        answers = [
            client.call("append_note", {"path": str(note), "text": "milk"}),
            client.call("read_file", {"path": str(note)}),
            client.call("fly", {}),
        ]

    assert answers == [
        Answer(failed=False, text=f"Added one line to {note}."),
        Answer(failed=False, text="milk\n"),
        Answer(failed=True, text="Unknown tool: fly"),
    ]
    assert log.read_text().count("\n") == 3


def test_a_child_that_goes_away_is_named_instead_of_waited_for() -> None:
    with pytest.raises(PeerError, match="ended before it answered"):
        Client([sys.executable, "-I", "-c", ""], {}).__enter__()
