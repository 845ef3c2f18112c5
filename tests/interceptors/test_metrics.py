"""What is counted."""

from rearview_interceptors import Call, Grade, Reply, Said
from rearview_interceptors.metrics import OTHERS, TOOLS_COUNTED, Metrics


def call(tool: str, server: str = "files") -> Call:
    return Call(1, server, tool, {}, b"d" * 16, 0.0, "task", False, {})


def reply(grade: Grade) -> Reply:
    return Reply(grade, None, "", 2, 0.5)


def test_calls_are_counted_by_server_tool_grade_and_what_was_said() -> None:
    metrics = Metrics()

    metrics.on_finished(call("read"), reply(Grade.OK), None)
    metrics.on_finished(call("read"), reply(Grade.FLAGGED), Said("hint", "l1"))
    metrics.on_finished(call("read"), reply(Grade.UNKNOWN), Said("hold", "l1"))
    metrics.on_finished(call("find", "web"), reply(Grade.OK), None)

    assert metrics.snapshot() == {
        "files": {
            "read": {
                "calls": 3,
                "seconds": 1.5,
                "grades": {"ok": 1, "flagged": 1, "unknown": 1},
                "said": {"hint": 1, "hold": 1},
            }
        },
        "web": {"find": {"calls": 1, "seconds": 0.5, "grades": {"ok": 1}, "said": {}}},
    }


def test_made_up_tool_names_do_not_fill_the_memory() -> None:
    metrics = Metrics()

    for number in range(TOOLS_COUNTED + 7):
        metrics.on_finished(call(f"tool{number}"), reply(Grade.OK), None)

    tools = metrics.snapshot()["files"]
    assert len(tools) == TOOLS_COUNTED + 1
    assert tools[OTHERS]["calls"] == 7
