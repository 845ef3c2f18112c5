import json

import pytest

from rearview.learn.model import CallRecord, ToolSchema
from rearview.store.journal_lines import (
    Ended,
    Identity,
    Keep,
    LineEncoder,
    Opening,
    Restarted,
    ServerNamed,
    ToolsListed,
)
from rearview.store.journal_records import RelayEnded, RelayStarted, ServerRestarted, record_of
from rearview.store.journal_records import ServerNamed as NamedRecord
from rearview.store.journal_records import ToolsListed as Tools
from rearview_interceptors import Call, Grade, Kind, Reply, Said


def encoder(*, narrow: bool = False, result_chars: int = 100) -> LineEncoder:
    return LineEncoder(
        Identity("r1", "ann", "files", ("os:linux",), 9),
        Keep(result_chars, email=False, narrow=lambda _: narrow),
        client=lambda: "7-8",
        clock=lambda: 1000.0,
        unix_minus_monotonic=900.0,
    )


def call(**arguments: object) -> Call:
    return Call(1, "files", "read", arguments, b"\x01" * 16, 50.0, "t", False, {"vscode.requestId": "q"})


BAD = Reply(Grade.FLAGGED, Kind.NOT_FOUND, "no such file", 30, 0.25)


def test_what_the_relay_writes_the_learner_reads() -> None:
    encode = encoder()
    items = [
        Opening(),
        ServerNamed({"name": "c", "version": "2"}, {"name": "s", "version": "3"}),
        ToolsListed([{"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}, 7]),
        (call(path="a"), BAD, Said("hint", "l1")),
        Restarted(3),
        Ended(5, 6),
    ]

    records = [record_of(encode(item) or b"") for item in items]

    assert records == [
        RelayStarted("r1", 1000.0, "ann", "7-8", "files", ("os:linux",), 9, 1000.0),
        NamedRecord("r1", 1000.0, "files", "3", "c", "2", modern=False),
        Tools("r1", 1000.0, "files", (ToolSchema("read", {"type": "object"}, read_only=True),)),
        CallRecord(
            relay="r1",
            seq=4,
            at=950.0,
            ms=250.0,
            owner="ann",
            client="7-8",
            server="files",
            server_version="3",
            tool="read",
            arguments={"path": "a"},
            digest="01" * 16,
            grade=Grade.FLAGGED,
            kind=Kind.NOT_FOUND,
            result="no such file",
            task_ref="vscode:q",
            client_name="c",
            env=("os:linux",),
            said=Said("hint", "l1"),
        ),
        ServerRestarted("r1", 1000.0),
        RelayEnded("r1", 1000.0, 6),
    ]


def test_a_narrow_capture_keeps_names_and_no_values() -> None:
    line = encoder(narrow=True)((call(path="a", deep={"n": [1, "x"]}, on=True), BAD, None))

    body = json.loads(line or b"")
    gone = "[redacted:narrow]"
    assert (body["arguments"], body["result"]) == ({"path": gone, "deep": {"n": [gone, gone]}, "on": True}, "")


@pytest.mark.parametrize("odd", ["a\ud83d", 10**40, 1e400, {"x": {"y": ["\udc00"]}}])
def test_odd_values_are_written_all_the_same(odd: object) -> None:
    assert json.loads(encoder()((call(x=odd), BAD, None)) or b"")["t"] == "call"
