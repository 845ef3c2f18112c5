from conversation import lesson
from rearview.core.speaking import HELD_SECONDS, Speaker
from rearview.core.task import client_ref
from rearview_interceptors import Call, Kind


def call(task: str = "t1", digest: bytes = b"d", at: float = 0.0) -> Call:
    return Call(1, "files", "read", {}, digest, at, task, False, {})


def speaker(share: float = 0.0, budget: int = 3, mode: str = "hold") -> Speaker:
    return Speaker(control_share=share, budget=budget, mode_for=lambda _: mode)  # type: ignore[arg-type,return-value] # a test's word


def test_one_word_per_pattern_and_three_per_task() -> None:
    voice = speaker()

    said = [voice.judge(call(), lesson(name), "hold") for name in ("a", "a", "b", "c", "d")]
    next_task = voice.judge(call("t2"), lesson("a"), "hold")

    assert said == ["hold", "silent", "hold", "hold", "silent"]
    assert next_task == "hold"


def test_tasks_that_take_turns_keep_their_budgets() -> None:
    voice = speaker()

    said = [voice.judge(call(task), lesson("a"), "hold") for task in ("t1", "t2", "t1", "t2", "t1")]

    assert said == ["hold", "hold", "silent", "silent", "silent"]


def test_modes_mute_step_by_step() -> None:
    heard = {
        mode: (
            speaker(mode=mode).judge(call(), lesson(), "hold"),
            speaker(mode=mode).judge(call(), lesson(), "hint"),
        )
        for mode in ("observe", "hint", "hold")
    }

    assert heard == {"observe": ("silent", "silent"), "hint": ("silent", "hint"), "hold": ("hold", "hint")}


def test_what_waiting_would_cure_and_mere_advice_is_never_held() -> None:
    assert speaker().judge(call(), lesson(kind=Kind.TRANSIENT), "hold") == "silent"
    assert speaker().judge(call(), lesson(kind=Kind.RATE_LIMITED), "hold") == "silent"
    assert speaker().judge(call(), lesson(loud=False), "hold") == "silent"


def test_the_control_group_is_the_same_for_every_relay_and_has_its_share() -> None:
    drawn = [[speaker(share=0.1).judge(call(f"t{n}"), lesson("a"), "hold") for n in range(2000)] for _ in range(2)]

    assert drawn[0] == drawn[1]
    assert 140 < drawn[0].count("control") < 260
    assert set(drawn[0]) == {"control", "hold"}


def test_a_control_match_costs_no_budget() -> None:
    voice = speaker(share=1.0, budget=1)

    assert [voice.judge(call(), lesson(name), "hold") for name in "ab"] == ["control", "control"]


def test_a_held_call_is_released_once_and_not_held_again() -> None:
    voice = speaker()
    voice.hold(call(), lesson("a"))

    assert voice.release(call(at=1.0)) == "a"
    assert voice.release(call(at=2.0)) is None
    assert voice.judge(call(at=3.0), lesson("other"), "hold") == "silent"
    assert voice.judge(call(at=3.0, digest=b"e"), lesson("other"), "hold") == "hold"


def test_a_hold_is_forgotten_after_half_an_hour() -> None:
    voice = speaker()
    voice.hold(call(), lesson("a"))

    assert voice.release(call(at=HELD_SECONDS + 1)) is None


def test_the_clients_own_word_for_the_task_counts_first() -> None:
    assert client_ref({"x-codex-turn-metadata": {"turn_id": "u1"}, "vscode.requestId": "r"}) == "codex:u1"
    assert client_ref({"vscode.requestId": "r", "traceparent": "00-ab-cd-01"}) == "vscode:r"
    assert client_ref({"traceparent": "00-ab-cd-01"}) == "trace:ab"
    assert client_ref({"traceparent": "x", "vscode.requestId": 7, "x-codex-turn-metadata": []}) == ""
