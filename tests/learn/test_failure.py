"""Grades and kinds, on recorded traffic, on made-up texts and on anything at all."""

# ruff: noqa: RUF001 (Chinese punctuation is meant)

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.result_texts import FAILURES, SUCCESSES
from rearview.learn.failure import kind_of, outcome_of
from rearview.learn.lessonset import NEVER_LOUD
from rearview.learn.openings import opens_plainly, quote_opens_plainly
from rearview_interceptors.api import FAILED, Grade, Kind

WIRE = Path(__file__).parent.parent / "fixtures" / "wire"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["error", "errors", "status", "content", "text", "type", "code", "message", "isError", "result"]
            )
            | st.text(max_size=8),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}], **more}}


def recorded() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    replies: dict[tuple[str, str], dict[str, Any]] = {}
    for recording in WIRE.glob("*.jsonl"):
        for line in recording.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.get("direction") == "server->client":
                replies[recording.name, json.dumps(row["message"]["id"])] = row["message"]
    for line in (WIRE / "labels.jsonl").read_text(encoding="utf-8").splitlines():
        label = json.loads(line)
        yield label, replies[label["file"], json.dumps(label["id"])]


def test_recorded_failures_are_told_from_successes_and_named() -> None:
    counts: Counter[str] = Counter()
    for label, reply in recorded():
        grade, kind, _ = outcome_of(reply)
        failed = grade in FAILED
        counts[f"{label['outcome']} {failed}"] += 1
        if label["outcome"] == "failure" and failed and label["kinds"]:
            counts[f"kind {kind in label['kinds']}"] += 1

    told, missed = counts["failure True"], counts["failure False"]
    wrong = counts["ok True"] + counts["partial True"]
    assert told + missed > 250
    assert counts["ok False"] > 50
    assert told / (told + missed) >= 0.95
    assert told / (told + wrong) >= 0.98
    assert counts["kind True"] / (counts["kind True"] + counts["kind False"]) >= 0.9


@pytest.mark.parametrize(("text", "kinds"), FAILURES)
def test_a_success_whose_text_says_failure_is_soft_and_has_a_kind(text: str, kinds: str) -> None:
    grade, kind, shown = outcome_of(said(text))

    assert (grade, shown) == (Grade.SOFT, text)
    assert kind in kinds.split()


@pytest.mark.parametrize("text", SUCCESSES)
def test_a_success_that_only_holds_the_words_of_failure_stays_a_success(text: str) -> None:
    assert outcome_of(said(text)) == (Grade.OK, None, text)


@pytest.mark.parametrize(
    "text",
    [
        "still indexing",
        "The index is not ready yet",
        "not ready yet, try again in a few seconds",
        "Server not initialized, retry after 5 s",
        "server is starting up",
        "Request failed, please retry",
        "temporarily unavailable",
        "Device or resource busy",
        "notes.db is locked by another process",
        "The project is still being indexed.",
        "正在索引,请稍后再试",
        "索引尚未就绪",
        "服务正在启动",
    ],
)
def test_what_only_takes_waiting_is_transient(text: str) -> None:
    assert kind_of(text, Grade.FLAGGED) is Kind.TRANSIENT


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("File not found. Check the path and try again.", Kind.NOT_FOUND),
        ("Invalid date. Please retry with another one.", Kind.ARGUMENT),
        ("The index is not ready: call build_index first", Kind.PRECONDITION),
        ("No document is currently loaded or the id is invalid", Kind.ARGUMENT),
        ("Invalid value: 'still indexing' is not one of ['a', 'b']", Kind.ARGUMENT),
    ],
)
def test_to_try_again_is_not_always_to_wait(text: str, kind: Kind) -> None:
    assert kind_of(text, Grade.FLAGGED) is kind


@pytest.mark.parametrize(
    "text",
    [
        "The user rejected the action",
        "user cancelled",
        "declined by user",
        "Error: The tool call was rejected by the user.",
        '{"error": "Action cancelled by user"}',
        "User did not approve this call",
        "用户拒绝了该操作",
        "操作已被用户取消",
    ],
)
def test_what_the_user_refused_is_no_outcome_of_the_call(text: str) -> None:
    assert outcome_of(said(text, isError=True)) == (Grade.UNKNOWN, None, "")
    assert outcome_of({"error": {"code": -32603, "message": text}}) == (Grade.UNKNOWN, None, "")
    assert kind_of(text, Grade.FLAGGED) in NEVER_LOUD


@pytest.mark.parametrize(
    "text",
    [
        "Access denied for user 'ann'@'db'",
        "The order was cancelled by the user",
        "User not found",
        "user policy denied",
    ],
)
def test_a_refusal_that_names_a_user_is_a_failure(text: str) -> None:
    assert outcome_of(said(text, isError=True))[0] is Grade.FLAGGED


def test_an_echo_that_looks_like_an_error_is_soft_because_one_reply_cannot_tell() -> None:
    assert outcome_of(said("Error: Operation failed"))[0] is Grade.SOFT


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": -32602, "message": "Invalid request parameters"}, Kind.ARGUMENT),
        ({"code": -32602, "message": "Unknown tool: now"}, Kind.UNKNOWN_TOOL),
        ({"code": -32601, "message": "nope"}, Kind.UNKNOWN_TOOL),
        ({"code": -32603, "message": "fetch failed"}, Kind.ENVIRONMENT),
        ({"code": -32603, "message": "HTTP 429"}, Kind.RATE_LIMITED),
        ({"code": -32002, "message": "gone"}, Kind.NOT_FOUND),
        ({"code": "x", "message": None, "data": {"message": "permission denied"}}, Kind.FORBIDDEN),
        ("boom", Kind.OTHER),
    ],
)
def test_a_json_rpc_error_is_hard(error: Any, kind: Kind) -> None:
    grade, told, _ = outcome_of({"jsonrpc": "2.0", "id": 1, "error": error})

    assert (grade, told) == (Grade.HARD, kind)


@pytest.mark.parametrize(
    "body",
    [
        {"result": {"resultType": "task", "taskId": "t"}},
        {"result": {"task": {"taskId": "t", "status": "working"}}},
        {"result": {"resultType": "input_required", "inputRequests": {}}},
        {"error": {"code": -32800, "message": "Request cancelled"}},
        {"error": {"code": -32042, "message": "URL elicitation required"}},
        {"result": None},
        {},
    ],
)
def test_what_is_not_an_outcome_has_no_grade(body: dict[str, Any]) -> None:
    assert outcome_of(body) == (Grade.UNKNOWN, None, "")


@pytest.mark.parametrize(
    "structured",
    [
        {"error": "no such table"},
        {"success": False, "rows": []},
        {"ok": False},
        {"status": "error"},
        {"result": "Error: no such table"},
        {"result": {"content": [{"type": "text", "text": "no"}], "isError": True}},
        {"result": '{"success": false, "reason": "x"}'},
    ],
)
def test_structured_content_that_says_failure_is_soft(structured: dict[str, Any]) -> None:
    assert outcome_of({"result": {"content": [], "structuredContent": structured}})[0] is Grade.SOFT


@pytest.mark.parametrize(
    "structured",
    [
        {"error": None, "rows": [1]},
        {"error": "", "rows": [1]},
        {"success": True, "error": "none"},
        {"status": "ok"},
        {"result": "fine"},
        {"content": "Error: a line of the file that was read"},
        {"temperature": 33},
    ],
)
def test_structured_content_without_a_sign_is_a_success(structured: dict[str, Any]) -> None:
    assert outcome_of({"result": {"content": [], "structuredContent": structured}})[0] is Grade.OK


def test_is_error_counts_whatever_the_text_says() -> None:
    assert outcome_of(said("all fine", isError=True)) == (Grade.FLAGGED, Kind.OTHER, "all fine")
    assert outcome_of({"result": {"isError": True}}) == (Grade.FLAGGED, Kind.OTHER, "")


def test_the_first_text_block_is_the_text_and_it_is_cut() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    body = {"result": {"content": [image, {"type": "text", "text": "x" * 5000}, {"type": "text", "text": "Error: y"}]}}

    assert outcome_of(body) == (Grade.OK, None, "x" * 4000)


def test_json_beyond_its_limit_is_not_read() -> None:
    assert outcome_of(said(json.dumps({"error": "x" * 70_000})))[0] is Grade.OK
    assert outcome_of(said(json.dumps({"error": "x" * 60_000})))[0] is Grade.SOFT


def test_routers_are_unwrapped_to_a_depth() -> None:
    text = "Error: deep"
    for _ in range(2):
        text = json.dumps({"content": [{"type": "text", "text": text}]})
    assert outcome_of(said(text))[0] is Grade.SOFT

    for _ in range(8):
        text = json.dumps({"content": [{"type": "text", "text": text}]})
    assert outcome_of(said(text))[0] is Grade.OK


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("no such table: timeout", Kind.NOT_FOUND),
        ("relation 'rate limit' does not exist", Kind.NOT_FOUND),
        ("Ref e5 not found in the current page snapshot. Try capturing new snapshot.", Kind.PRECONDITION),
        ("/data/notarepo", Kind.NOT_FOUND),
        ("ERROR: duplicate key value violates unique constraint (SQLSTATE 23505)", Kind.ARGUMENT),
        ("could not serialize access (SQLSTATE 40001)", Kind.TRANSIENT),
        ("EACCES: permission denied, open '/x/not found.txt'", Kind.FORBIDDEN),
        ("No matches found", Kind.EMPTY),
        ("没有找到匹配的文件", Kind.NOT_FOUND),
        ("未查询到数据", Kind.EMPTY),
        ("请求过于频繁，请稍后再试", Kind.RATE_LIMITED),
        ("拒绝访问", Kind.FORBIDDEN),
        ("time data '13:99' does not match format '%H:%M'", Kind.ARGUMENT),
        ("unconverted data remains: Z", Kind.ARGUMENT),
        ("name does not match the required pattern", Kind.ARGUMENT),
        ("'a b' does not match '^[a-z]+$'", Kind.ARGUMENT),
        ("The input doesn't match the expected schema", Kind.ARGUMENT),
        ("value does not match type integer", Kind.ARGUMENT),
        ("参数类型不匹配", Kind.ARGUMENT),
        ("日期与格式 YYYY-MM-DD 不匹配", Kind.ARGUMENT),
        ('"#buy-now" does not match any elements.', Kind.NOT_FOUND),
        ("error: pathspec 'fix' did not match any file(s) known to git", Kind.NOT_FOUND),
        ("'/etc/x' is not in the subpath of '/srv/shelf'", Kind.FORBIDDEN),
        ("/etc/x is not within the allowed folder /srv/shelf", Kind.FORBIDDEN),
        ("boom", Kind.OTHER),
        ("", Kind.OTHER),
    ],
)
def test_kinds_are_read_from_codes_and_words(text: str, kind: Kind) -> None:
    assert kind_of(text, Grade.FLAGGED) is kind


def test_what_did_not_fail_has_no_reason() -> None:
    assert kind_of("permission denied", Grade.OK) is Kind.OTHER


@settings(deadline=None)
@given(JSON, JSON, JSON)
def test_no_reply_makes_it_raise(content: Any, structured: Any, error: Any) -> None:
    bodies: list[dict[str, Any]] = [
        {"result": {"content": content, "structuredContent": structured, "isError": error}},
        {"result": {"content": [{"type": "text", "text": json.dumps(content)}]}},
        {"result": content},
        {"error": error},
    ]
    for body in bodies:
        grade, kind, text = outcome_of(body)
        assert (kind is not None) == (grade in FAILED)
        assert len(text) <= 4000


@settings(deadline=None)
@given(st.text(max_size=300))
def test_a_text_never_makes_it_raise(text: str) -> None:
    outcome_of(said(text))
    assert kind_of(text, Grade.FLAGGED) in Kind


def test_the_relay_can_import_it_cheaply() -> None:
    code = (
        "import orjson, sys; from rearview_interceptors import api; before = set(sys.modules);"
        "import rearview.learn.failure;"
        "print(*sorted(set(sys.modules) - before))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert [name for name in shown.stdout.split() if not name.startswith("rearview")] == []
    assert not {"rearview.learn.words", "rearview.learn.template"} & set(shown.stdout.split())


OPENING_WORDS = (
    "Error",
    "FAILED",
    "not found",
    "No such file",
    "exception",
    "output:",
    "cannot",
    "  no ",
    "[",
    "4",
    "é",
    "\n",
    "\t",
    '"',
)


@given(st.lists(st.sampled_from(OPENING_WORDS) | st.text(max_size=40), max_size=8).map("".join), st.booleans())
def test_a_text_that_is_clear_in_its_quotes_is_clear_without_them(text: str, ascii_only: bool) -> None:
    quote = json.dumps(text, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")[1:-1]

    assert opens_plainly(text) or not quote_opens_plainly(quote)


@pytest.mark.parametrize("text", ["Wrote 12 lines to a.txt", "t0001", "The first\nThe second", "", "user 7 is fine"])
def test_usual_texts_are_clear_in_their_quotes(text: str) -> None:
    assert quote_opens_plainly(json.dumps(text).encode()[1:-1])


@pytest.mark.parametrize("code", [-32020, -32021, -32022, -32800, -32042])
def test_what_the_client_got_wrong_about_the_protocol_is_no_outcome_of_the_call(code: int) -> None:
    assert outcome_of({"error": {"code": code, "message": "Header mismatch: invalid value"}}) == (
        Grade.UNKNOWN,
        None,
        "",
    )
