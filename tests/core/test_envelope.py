"""A plain answer that is told by its bytes ends its call just as one that is decoded."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation import Advisor, call_line, conversation, lesson
from rearview.core.actions import PASS
from rearview.core.calls import KEPT_BACK
from rearview.core.envelope import ANSWER_BYTES, Envelope
from rearview.core.message import look
from rearview.core.session import Session
from rearview_interceptors import Grade, Reply

WORDS = (
    "Error: ",
    "error",
    "Failed to ",
    "not found",
    "no such file",
    "output:\n",
    "401 ",
    "cannot ",
    "{",
    "[",
    "ok",
    " ",
)
TEXTS = st.lists(st.sampled_from(WORDS) | st.text(max_size=12), max_size=6).map("".join)
IDS = st.integers(-(10**20), 10**20) | st.text(max_size=8)


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def spaced(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


Writer = Callable[[Any, str], bytes]


def python_sdk(message_id: Any, text: str) -> bytes:
    result = {"content": [{"type": "text", "text": text}], "isError": False}
    return compact({"jsonrpc": "2.0", "id": message_id, "result": result})


def typescript_sdk(message_id: Any, text: str) -> bytes:
    return compact({"result": {"content": [{"type": "text", "text": text}]}, "jsonrpc": "2.0", "id": message_id})


def by_hand(message_id: Any, text: str) -> bytes:
    return spaced({"jsonrpc": "2.0", "id": message_id, "result": {"content": [{"text": text, "type": "text"}]}})


def modern(message_id: Any, text: str) -> bytes:
    result = {"resultType": "complete", "content": [{"type": "text", "text": text}], "_meta": {"text": "x"}}
    return compact({"jsonrpc": "2.0", "id": message_id, "result": result})


WRITERS: tuple[Writer, ...] = (python_sdk, typescript_sdk, by_hand, modern)


def ended(relay: Session, advisor: Advisor, line: bytes) -> Reply:
    assert relay.from_server(line, 1.0) is PASS
    return advisor.heard[-1][1]


def taught(write: Writer) -> Envelope:
    envelope = Envelope()
    line = write(1, "fine")
    envelope.learn(line, look(line) or {})
    return envelope


@pytest.mark.parametrize("write", WRITERS)
@given(first=TEXTS, second=TEXTS, message_id=IDS)
def test_the_outcome_is_the_same_as_after_decoding(write: Writer, first: str, second: str, message_id: Any) -> None:
    advisors = Advisor(), Advisor()
    relays = [conversation(each) for each in advisors]
    for relay in relays:
        relay.from_client(call_line("first"), 0.0)
        relay.from_client(call_line(message_id), 0.0)
    relays[0].from_server(write("first", first), 1.0)

    answer = write(message_id, second)
    replies = [ended(relay, advisor, answer) for relay, advisor in zip(relays, advisors, strict=True)]

    assert tuple(replies[0][:2]) == tuple(replies[1][:2])
    assert replies[0].text == replies[1].text
    assert [relay.waiting for relay in relays] == [0, 1]


@pytest.mark.parametrize("write", WRITERS)
def test_it_opens_what_is_written_like_the_last_plain_answer(write: Writer) -> None:
    envelope = taught(write)

    assert envelope.open(write(77, "all is well")) == (77, b"all is well")
    assert envelope.open(write("a-7", "all is well")) == ("a-7", b"all is well")


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.replace(b"fine", b'a\\"b'),
        lambda line: line.replace(b"fine", b'a"},{"type":"text","text":"b'),
        lambda line: line.replace(b"fine", b'a"}],"isError":true,"x":[{"y":"b'),
        lambda line: line.replace(b"1", b"1.0"),
        lambda line: line.replace(b"1", b"null"),
        lambda line: line.replace(b"1", b'1,"method":"x"'),
        lambda line: line.replace(b"1", b"12 13"),
        lambda line: line[:-2] + b"\n",
        lambda line: b" " + line,
        lambda line: b"",
        lambda line: b"\n",
        lambda line: b"\n\n\n",
    ],
)
def test_anything_else_has_to_be_decoded(write: Writer, change: Callable[[bytes], bytes]) -> None:
    assert taught(write).open(change(write(1, "fine"))) is None


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}], "isError": True}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}], "structuredContent": {}}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}] * 2}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}], "resultType": "input"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}]}, "error": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": 5}]}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x" * ANSWER_BYTES}]}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": []}},
        {"jsonrpc": "2.0", "id": 1, "result": []},
    ],
)
def test_it_learns_of_plain_answers_only(body: Any) -> None:
    line = compact(body)
    envelope = Envelope()
    envelope.learn(line, look(line) or {})

    assert envelope.open(line) is None


def test_an_answer_that_nobody_waits_for_passes_and_ends_nothing() -> None:
    advisor = Advisor()
    relay = conversation(advisor)
    relay.from_client(call_line(1), 0.0)
    relay.from_client(call_line(2), 0.0)
    relay.from_server(python_sdk(1, "fine"), 1.0)

    assert relay.from_server(python_sdk(1, "fine"), 1.0) is PASS
    assert (len(advisor.heard), relay.waiting) == (1, 1)


def test_a_failure_written_like_a_success_is_still_seen() -> None:
    advisor = Advisor()
    relay = conversation(advisor)
    for number in (1, 2):
        relay.from_client(call_line(number), 0.0)
    relay.from_server(python_sdk(1, "fine"), 1.0)

    assert ended(relay, advisor, python_sdk(2, "Error: no such table")).grade is Grade.SOFT


def test_after_a_restart_the_first_answer_is_read_whole() -> None:
    advisor = Advisor()
    relay = conversation(advisor)
    relay.from_client(call_line(1), 0.0)
    relay.from_server(python_sdk(1, "fine"), 1.0)
    relay.server_gone(1, "", 2.0)
    relay.resume()
    relay.from_client(call_line(2), 3.0)

    assert ended(relay, advisor, python_sdk(2, "fine")).quote == "fine"


def tell(relay: Session, *numbers: int) -> None:
    for number in numbers:
        relay.from_client(call_line(number), 0.0)
    for number in numbers:
        relay.from_server(python_sdk(number, f"fine {number}"), 1.0)


def test_successes_that_can_wait_are_told_of_together_and_in_order() -> None:
    advisor = Advisor()
    relay = conversation(advisor, may_wait=True)
    tell(relay, 1, 2, 3, 4)
    before, was_unsettled = len(advisor.heard), relay.unsettled

    relay.settle()

    assert (before, was_unsettled, relay.unsettled) == (1, True, False)
    assert [call.id for call, *_ in advisor.heard] == [1, 2, 3, 4]
    assert [reply.text for _, reply, _ in advisor.heard] == [f"fine {number}" for number in (1, 2, 3, 4)]


def test_not_more_of_them_wait_than_can_be_told_at_once() -> None:
    advisor = Advisor()
    relay = conversation(advisor, may_wait=True)

    # The first one has to be decoded; the others are written like it.
    tell(relay, *range(KEPT_BACK))
    assert (len(advisor.heard), relay.unsettled) == (1, True)

    tell(relay, KEPT_BACK)

    assert (len(advisor.heard), relay.unsettled) == (KEPT_BACK + 1, False)


@pytest.mark.parametrize("end", ["failure", "gone", "closed", "cancelled"])
def test_what_waits_is_told_of_before_what_comes_after_it(end: str) -> None:
    advisor = Advisor()
    relay = conversation(advisor, may_wait=True)
    tell(relay, 1, 2)
    relay.from_client(call_line(3), 2.0)

    if end == "failure":
        relay.from_server(python_sdk(3, "Error: no"), 3.0)
    elif end == "gone":
        relay.server_gone(1, "", 3.0)
    elif end == "closed":
        relay.close(3.0)
    else:
        relay.from_client(compact({"method": "notifications/cancelled", "params": {"requestId": 3}}), 3.0)

    assert [call.id for call, *_ in advisor.heard] == [1, 2, 3]


def test_a_call_of_which_something_was_said_does_not_wait() -> None:
    advisor = Advisor(before=lambda _: lesson())
    relay = conversation(advisor, may_wait=True, mode="observe")

    tell(relay, 1, 2)

    assert advisor.said == ["silent", "silent"]
