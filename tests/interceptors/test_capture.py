"""Which calls reach the journal."""

from typing import Any

from rearview_interceptors import Call, Grade, Reply, Said
from rearview_interceptors.capture import CALL_BYTES, Capture

REPLY = Reply(Grade.OK, None, "", 2, 0.01)


def call(tool: str) -> Call:
    return Call(1, "files", tool, {}, b"d" * 16, 0.0, "task", False, {})


def test_finished_calls_are_handed_on_except_those_of_tools_that_are_off() -> None:
    taken: list[Any] = []
    asked: list[str] = []

    def wanted(server: str, tool: str) -> bool:
        asked.append(f"{server}.{tool}")
        return tool != "secret"

    capture = Capture(lambda item, size: taken.append((item, size)), wanted)

    said = Said("control", "l1")
    for tool in ("read", "secret", "read", "secret"):
        capture.on_finished(call(tool), REPLY, said)

    assert taken == [((call("read"), REPLY, said), CALL_BYTES + REPLY.size)] * 2
    assert asked == ["files.read", "files.secret"]
