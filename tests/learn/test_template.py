"""Templates: equal for equal mistakes, free of values, bounded."""

# ruff: noqa: RUF001, E501 (Chinese punctuation is meant; a case is one line)

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rearview.learn.template import template_of

ZOD = [
    {
        "code": "invalid_type",
        "expected": "string",
        "received": "undefined",
        "path": ["files", 0, "content"],
        "message": "Required",
    }
]
PYDANTIC = (
    "Error executing tool git_status: 1 validation error for statusArguments\nrepo_path\n  Field required "
    "[type=missing, input_value={'path': '/data/shop'}, input_type=dict]\n"
    "    For further information visit https://errors.pydantic.dev/2.14/v/missing"
)
TRACEBACK = 'Traceback (most recent call last):\n  File "/a/b.py", line 3, in x\n    y()\nValueError: bad value 17\n'


@pytest.mark.parametrize(
    ("text", "arguments", "template"),
    [
        ("ENOENT: no such file or directory, open '/a/b.txt'", {"path": "/a/b.txt"}, "ENOENT: no such file or directory, open <*>"),
        ("ENOENT: no such file or directory, open '/r/b.txt'", {"path": "b.txt"}, "ENOENT: no such file or directory, open <*>"),
        ("Access denied - path outside allowed directories: /etc/passwd not in /data", {"path": "/etc/passwd"}, "Access denied - path outside allowed directories: <*> not in <*>"),
        ("Access denied - path outside allowed directories: / not in /data", {"path": "/"}, "Access denied - path outside allowed directories: / not in <*>"),
        ("MCP error -32602: Input validation error: Invalid arguments for tool read: Required at path", {"file": "x"}, "Required at path"),
        ("Error executing tool git_show: Ref 'abc1234' did not resolve to an object", {"revision": "abc1234"}, "Ref <*> did not resolve to an object"),
        ("Error executing tool git_show: Ref 'v9.9' did not resolve to an object", {"revision": "v9.9"}, "Ref <*> did not resolve to an object"),
        (PYDANTIC, {"path": "/data/shop"}, "repo_path Field required [type=missing ]"),
        ("Input validation error: 'table_name' is a required property", {"table": "parts"}, "'table_name' is a required property"),
        ("The 'table' parameter requires 'schema' to be specified", {"table": "orders"}, "The 'table' parameter requires <*> to be specified"),
        ("Error: " + json.dumps(ZOD), {}, "invalid_type: Required: at files[].content"),
        ("Invalid input: " + json.dumps(ZOD), {}, "Invalid input: invalid_type: Required: at files[].content"),
        ('{"success": false, "error": "relation \\"users\\" does not exist", "code": "42P01"}', {"sql": "select 1 from users"}, "42P01: relation <*> does not exist"),
        ("Database error: no such table: part", {"query": "SELECT * FROM part"}, "Database error: no such table: <*>"),
        ("Database error: no such column: p.cost", {"query": "SELECT p.cost FROM parts p"}, "Database error: no such column: <*>"),
        ("### Error\nError: browserBackend.callTool: net::ERR_NAME_NOT_RESOLVED at http://x.invalid/\nCall log:\n  - navigating", {}, "net::ERR_NAME_NOT_RESOLVED at <*>"),
        ("### Error\nError: Ref e5 not found in the current page snapshot.", {"target": "e5"}, "Ref <*> not found in the current page snapshot."),
        ("TypeError: Cannot read properties of null (reading 'x')\n    at eval (eval at evaluate (:368:30))", {}, "TypeError: Cannot read properties of null (reading <*>)"),
        (TRACEBACK, {}, "ValueError: bad value <*>"),
        ("HTTP error! Status: 404", {}, "HTTP error! Status: 404"),
        ("Request failed with status code 503 after 3 tries", {}, "Request failed with status code 503 after <*> tries"),
        ("Timeout 2500ms exceeded.", {}, "Timeout <*>ms exceeded."),
        ("Could not find exact match for edit:\ndef f(a):\n  pass", {"edits": [{"oldText": "def f(a):\n  pass"}]}, "Could not find exact match for edit: <*>"),
        ("user 9f1b2c3d-0000-4000-8000-1234567890ab has no order 2026-12-01", {}, "user <*> has no order <*>"),
        ('Invalid option: expected one of "a"|"b"|"c" at level', {"level": "all"}, "Invalid option: expected one of <*> at level"),
        ("错误：找不到文件 /a/b.txt", {"path": "/a/b.txt"}, "找不到文件 <*>"),
        ("参数 'city' 无效：火星", {"city": "火星"}, "参数 'city' 无效：<*>"),
        ("表「orders」不存在", {}, "表<*>不存在"),
        ("", {}, ""),
    ],
)  # fmt: skip
def test_values_go_and_causes_stay(text: str, arguments: dict[str, Any], template: str) -> None:
    assert template_of(text, arguments) == template


def test_a_json_text_that_was_cut_still_gives_its_message() -> None:
    text = json.dumps({"success": False, "error": "no such table: part", "trace": "x" * 9000})[:2000]

    assert template_of(text, {}) == "no such table: part"


MESSAGES = [
    "ENOENT: no such file, open '{}'",
    "Ref {} did not resolve to an object",
    'relation "{}" does not exist',
    "{} is not allowed here: {}",
    '{{"error": "no item {}", "code": "E1"}}',
    "Unknown city {}, try again",
    "未找到 {}。",
]
VALUES = st.one_of(
    st.from_regex(r"[a-z]{3,12}", fullmatch=True),
    st.from_regex(r"/[a-z]{1,8}/[a-z]{1,8}\.txt", fullmatch=True),
    st.from_regex(r"[a-z]{1,8}(/[a-z]{2,8}){1,2}", fullmatch=True),
    st.integers(10, 10**9).map(str),
    st.from_regex(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", fullmatch=True),
    st.from_regex(r"[\u4e00-\u9fa5]{2,6}", fullmatch=True),
)


@settings(deadline=None)
@given(st.sampled_from(MESSAGES), VALUES, VALUES)
def test_the_same_mistake_with_another_value_has_the_same_template(message: str, one: str, other: str) -> None:
    plain = message.replace("{}", "")
    assume(one not in plain and other not in plain)

    first = template_of(message.replace("{}", one), {"what": one})
    second = template_of(message.replace("{}", other), {"what": other})

    assert first == second
    assert one not in first


@settings(deadline=None)
@given(
    st.text(max_size=400),
    st.dictionaries(
        st.text(max_size=6), st.recursive(st.text(max_size=8) | st.integers(), st.lists, max_leaves=4), max_size=4
    ),
)
def test_anything_gives_one_printable_line_of_at_most_300_characters(text: str, arguments: dict[str, Any]) -> None:
    template = template_of(text, arguments)

    assert len(template) <= 300
    assert template.isprintable()
    assert template == template.strip()


@settings(deadline=None)
@given(st.sampled_from(MESSAGES), VALUES)
def test_a_template_is_its_own_template(message: str, value: str) -> None:
    template = template_of(message.replace("{}", value).replace("{{", "{").replace("}}", "}"), {"what": value})

    assert template_of(template, {}) == template


@pytest.mark.parametrize(
    "piece", ["'", '"a', "a/", "{", "[", "<*>", "1-", "/", 'File "', " at ", "table ", "\\", "a.b:", "é", "「"]
)
def test_a_megabyte_of_anything_is_cut_first(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))

    assert len(template_of(text, {"what": piece, "text": text[:5000]})) <= 300
