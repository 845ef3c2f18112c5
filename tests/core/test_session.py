import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversation import Advisor, Notes, call_line, conversation, lesson, line, plain_digest, result_line
from rearview.core.actions import NOISE, PASS, SWALLOW, Answer, Replace, ToServer
from rearview_interceptors import Grade, Kind, Reply, Said

MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0"),
        "id": SCALARS,
        "method": st.sampled_from(["tools/call", "tools/list", "initialize", "notifications/cancelled", "x"]) | VALUES,
        "params": st.fixed_dictionaries(
            {}, optional={"name": st.just("t") | VALUES, "arguments": VALUES, "_meta": VALUES, "requestId": VALUES}
        )
        | VALUES,
        "result": st.fixed_dictionaries(
            {}, optional={"content": VALUES, "isError": VALUES, "tools": VALUES, "structuredContent": VALUES}
        )
        | VALUES,
        "error": VALUES,
    },
)
LINES = st.one_of(
    st.binary(max_size=80),
    MESSAGES.map(lambda body: json.dumps(body).encode()),
    st.lists(MESSAGES, max_size=3).map(lambda body: json.dumps(body).encode()),
)


@given(st.lists(st.tuples(st.booleans(), LINES), max_size=12))
@settings(deadline=None)
def test_without_a_verdict_every_byte_passes_both_ways_and_nothing_raises(traffic: list[tuple[bool, bytes]]) -> None:
    relay = conversation(Advisor())

    for from_client, each in traffic:
        if from_client:
            assert relay.from_client(each, 0.0) is PASS
        else:
            assert relay.from_server(each, 0.0) in (PASS, NOISE)
    relay.server_gone(1, "", 1.0)
    relay.close(2.0)


@given(st.lists(st.tuples(st.booleans(), LINES), max_size=12))
@settings(deadline=None)
def test_no_message_makes_a_speaking_session_raise(traffic: list[tuple[bool, bytes]]) -> None:
    relay = conversation(Advisor(before=lambda _: lesson(), after=lambda *_: lesson("l2")))

    for from_client, each in traffic:
        (relay.from_client if from_client else relay.from_server)(each, 0.0)
    relay.server_gone(1, "", 1.0)
    relay.close(2.0)


def held(action: Any) -> dict[str, Any]:
    assert isinstance(action, Answer)
    body: dict[str, Any] = json.loads(action.line)
    return body


def test_a_held_call_is_answered_and_its_identical_repeat_goes_through() -> None:
    advisor = Advisor(before=lambda _: lesson())
    relay = conversation(advisor)

    answer = held(relay.from_client(call_line(1), 0.0))
    repeat = relay.from_client(call_line(2), 1.0)
    relay.from_server(result_line(2), 2.0)

    assert answer["result"]["isError"] is True
    assert answer["result"]["content"] == [{"type": "text", "text": "held l1"}]
    assert repeat is PASS
    assert advisor.said == ["hold", "repeat"]
    assert advisor.heard[1][1] == Reply(Grade.OK, None, "ok", len(result_line(2)), 1.0)


def test_a_modern_call_gets_a_modern_answer() -> None:
    relay = conversation(Advisor(before=lambda _: lesson()))

    answer = held(relay.from_client(call_line(1, **MODERN), 0.0))

    assert answer["result"]["resultType"] == "complete"


@pytest.mark.parametrize(
    "message",
    [
        call_line(1, task={"ttl": 1}),
        call_line(1, inputResponses={}, **MODERN),
        call_line(1, requestState="s", **MODERN),
        line([json.loads(call_line(1))]),
    ],
)
def test_a_call_for_which_a_plain_result_would_be_wrong_is_never_held(message: bytes) -> None:
    advisor = Advisor(before=lambda _: lesson())
    relay = conversation(advisor)

    assert relay.from_client(message, 0.0) is PASS

    relay.close(1.0)
    assert advisor.said == ["silent"]


def test_a_call_that_is_already_on_its_way_is_not_held() -> None:
    asked: list[int] = []

    def before(_: object) -> Any:
        asked.append(1)
        return lesson() if len(asked) > 1 else None

    relay = conversation(Advisor(before=before))

    assert relay.from_client(call_line(1), 0.0) is PASS
    assert relay.from_client(call_line(2), 0.0) is PASS


def test_a_changed_call_is_not_held_for_the_same_pattern() -> None:
    relay = conversation(Advisor(before=lambda _: lesson()))

    assert isinstance(relay.from_client(call_line(1), 0.0), Answer)
    assert relay.from_client(call_line(2, arguments={"file": "b"}), 0.0) is PASS


def test_a_failure_gets_its_hint_and_a_success_stays_untouched() -> None:
    advisor = Advisor(after=lambda *_: lesson(loud=False))
    relay = conversation(advisor)
    relay.from_client(call_line(1), 0.0)
    relay.from_client(call_line(2, arguments={}), 0.0)

    good = relay.from_server(result_line(1), 0.0)
    bad = relay.from_server(result_line(2, "boom", isError=True), 0.0)

    assert good is PASS
    assert isinstance(bad, Replace)
    assert json.loads(bad.line)["result"]["content"][0]["text"] == "boom\n\nhint l1"
    assert advisor.said == [None, "hint"]


def test_an_idle_gap_begins_a_new_task_and_so_does_another_word_of_the_client() -> None:
    advisor = Advisor()
    relay = conversation(advisor)

    for now in (0.0, 299.0, 598.0, 899.0):
        relay.from_client(call_line(1), now)
        relay.from_server(result_line(1), now)
    relay.from_client(call_line(1, _meta={"vscode.requestId": "r"}), 900.0)
    relay.from_server(result_line(1), 900.0)

    assert [call.task for call, _, _ in advisor.heard] == ["t:1", "t:1", "t:1", "t:2", "vscode:r"]


def test_a_late_answer_to_a_cancelled_call_is_no_outcome() -> None:
    advisor = Advisor()
    relay = conversation(advisor)
    relay.from_client(call_line(5), 0.0)
    cancel = line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})

    assert relay.from_client(cancel, 0.0) is PASS
    assert relay.from_server(result_line(5, "boom", isError=True), 0.0) is PASS

    assert [reply.grade for _, reply, _ in advisor.heard] == [Grade.UNKNOWN]


def test_a_cancel_after_the_answer_changes_nothing() -> None:
    advisor = Advisor()
    relay = conversation(advisor)
    relay.from_client(call_line(5), 0.0)
    relay.from_server(result_line(5), 0.0)

    relay.from_client(line({"method": "notifications/cancelled", "params": {"requestId": 5}}), 0.0)

    assert [reply.grade for _, reply, _ in advisor.heard] == [Grade.OK]


def test_ids_that_only_look_alike_are_told_apart() -> None:
    advisor = Advisor()
    relay = conversation(advisor)
    for message_id, text in ((1, "int"), ("1", "str"), (1.0, "float"), (True, "true")):
        relay.from_client(call_line(message_id, tool=text), 0.0)

    for message_id, text in ((True, "true"), (1.0, "float"), ("1", "str"), (1, "int")):
        relay.from_server(result_line(message_id, text), 0.0)

    assert [(call.tool, reply.text) for call, reply, _ in advisor.heard] == [
        (text, text) for text in ("true", "float", "str", "int")
    ]


def test_answers_larger_than_a_hint_may_be_are_looked_at_after_they_were_forwarded() -> None:
    advisor = Advisor(after=lambda *_: lesson())
    relay = conversation(advisor)
    relay.from_client(call_line(1), 0.0)

    assert relay.from_server(result_line(1, "x" * 70_000, isError=True), 0.0) is PASS
    assert advisor.heard == []
    relay.catch_up(1.0)

    assert [reply.grade for _, reply, _ in advisor.heard] == [Grade.FLAGGED]


def test_a_large_call_is_remembered_cut_and_passes_whole() -> None:
    advisor = Advisor()
    relay = conversation(advisor)
    large = call_line(1, arguments={"text": "word " * 10_000, "path": "a"})

    assert relay.from_client(large, 0.0) is PASS
    relay.from_server(result_line(1), 0.0)

    call = advisor.heard[0][0]
    assert call.arguments["path"] == "a"
    assert call.arguments["text"]["$cut"] == 50_000
    assert call.digest == plain_digest("read", {"text": "word " * 10_000, "path": "a"})


def test_a_batch_is_observed_part_by_part() -> None:
    advisor = Advisor()
    relay = conversation(advisor)

    relay.from_client(line([json.loads(call_line(1)), json.loads(call_line(2, tool="write"))]), 0.0)
    relay.from_server(line([json.loads(result_line(2)), json.loads(result_line(1))]), 0.0)

    assert [call.tool for call, _, _ in advisor.heard] == ["write", "read"]


def handshake(relay: Any) -> tuple[bytes, bytes]:
    hello = line({"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "c"}, "n": 1.0}, "jsonrpc": "2.0"})
    ready = line({"jsonrpc": "2.0", "method": "notifications/initialized"})
    relay.from_client(hello, 0.0)
    relay.from_server(line({"id": 0, "result": {"serverInfo": {"name": "s", "version": "1"}}}), 0.0)
    relay.from_client(ready, 0.0)
    return hello, ready


def test_a_session_tells_who_talks_and_which_tools_there_are() -> None:
    notes = Notes()
    relay = conversation(notes=notes)
    handshake(relay)

    relay.from_client(line({"id": 1, "method": "tools/list"}), 0.0)
    relay.from_server(line({"id": 1, "result": {"tools": [{"name": "read"}]}}), 0.0)
    assert notes == Notes()
    relay.wake()
    relay.wake()

    assert notes == Notes(servers=[({"name": "c"}, {"name": "s", "version": "1"})], tools=[[{"name": "read"}]])


def test_a_dead_server_is_answered_for_and_its_successor_gets_the_handshake() -> None:
    advisor, notes = Advisor(), Notes()
    relay = conversation(advisor, notes=notes)
    hello, ready = handshake(relay)
    relay.from_client(call_line(10**30), 1.0)
    relay.from_client(line({"id": "p", "method": "ping"}), 1.0)

    answers = [json.loads(each) for each in relay.server_gone(3, "Traceback\nboom", 2.0)]
    replay = relay.resume()

    assert [(answer["id"], answer["error"]["data"]) for answer in answers] == [
        (10**30, {"exitCode": 3, "stderr": "Traceback\nboom"}),
        ("p", {"exitCode": 3, "stderr": "Traceback\nboom"}),
    ]
    assert "exit code 3" in answers[0]["error"]["message"]
    assert "boom" in answers[0]["error"]["message"]
    assert replay == [hello.replace(b'"id": 0', b'"id": "rearview-initialize-1"')]
    assert relay.resuming
    assert relay.from_server(line({"id": "rearview-initialize-1", "result": {}}), 3.0) == ToServer(ready)
    assert not relay.resuming
    assert [(reply.grade, reply.kind) for _, reply, _ in advisor.heard] == [(Grade.HARD, Kind.TRANSIENT)]
    assert notes.restarts == []
    relay.from_client(call_line(4), 4.0)
    relay.from_server(result_line(4), 4.0)
    assert notes.restarts == [3]


def test_an_answer_to_a_question_of_the_dead_server_is_kept_from_the_new_one() -> None:
    relay = conversation()
    relay.from_server(line({"id": 9, "method": "roots/list"}), 0.0)
    relay.server_gone(1, "", 0.0)

    assert relay.from_client(line({"id": 9, "result": {}}), 0.0) is SWALLOW
    assert relay.from_client(line({"id": 9, "result": {}}), 0.0) is PASS


def test_a_new_server_that_asks_under_an_old_number_gets_its_answer() -> None:
    relay = conversation()
    relay.from_server(line({"id": 0, "method": "elicitation/create"}), 0.0)
    relay.server_gone(1, "", 0.0)
    relay.from_server(line({"id": 0, "method": "roots/list"}), 1.0)

    assert relay.from_client(line({"id": 0, "result": {"roots": []}}), 1.0) is PASS


def test_a_call_whose_id_is_written_oddly_is_not_held() -> None:
    relay = conversation(Advisor(before=lambda _: lesson()))

    assert relay.from_client(call_line(1).replace(b'"id": 1', b'"id": 1E2'), 0.0) is PASS


def test_a_server_that_died_before_it_said_hello_has_nothing_to_replay() -> None:
    relay = conversation()
    relay.from_client(line({"id": 0, "method": "initialize", "params": {}}), 0.0)

    assert [json.loads(each)["id"] for each in relay.server_gone(1, "", 0.0)] == [0]
    assert relay.resume() == []
    assert not relay.resuming


def test_calls_without_an_answer_are_reported_when_the_conversation_ends() -> None:
    advisor = Advisor()
    relay = conversation(advisor)
    relay.from_client(call_line(1), 1.0)

    relay.close(3.0)

    assert [(reply, said) for _, reply, said in advisor.heard] == [(Reply(Grade.UNKNOWN, None, "", 0, 2.0), None)]


def test_said_names_the_lesson() -> None:
    advisor = Advisor(before=lambda _: lesson("abc"))
    relay = conversation(advisor)

    relay.from_client(call_line(1), 0.0)

    assert advisor.heard[0][2] == Said("hold", "abc")


def test_the_retry_of_an_unfinished_call_is_no_repeat_of_it() -> None:
    advisor = Advisor()
    relay = conversation(advisor)
    for number, more in enumerate(({}, {"requestState": "a"}, {"requestState": "b"}, {"inputResponses": {}})):
        relay.from_client(call_line(number, **MODERN, **more), 0.0)
        relay.from_server(result_line(number), 1.0)

    assert len({call.digest for call, *_ in advisor.heard}) == 4
