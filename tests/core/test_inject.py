import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.core.inject import META_KEY, error_answer, held_result, with_hint
from rearview.core.jsonspan import locate

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def test_a_held_result_is_one_error_block_on_both_generations() -> None:
    legacy = json.loads(held_result(7, "no", modern=False, meta={"id": "x"}))
    modern = json.loads(held_result("a", "no", modern=True, meta={"id": "x"}))

    result = {"content": [{"type": "text", "text": "no"}], "isError": True, "_meta": {META_KEY: {"id": "x"}}}
    assert legacy == {"jsonrpc": "2.0", "id": 7, "result": result}
    assert modern == {"jsonrpc": "2.0", "id": "a", "result": {**result, "resultType": "complete"}}


def test_an_error_answer_carries_its_data_and_a_big_id() -> None:
    answer = json.loads(error_answer(10**30, "gone", {"exitCode": 3}))

    assert answer == {
        "jsonrpc": "2.0",
        "id": 10**30,
        "error": {"code": -31990, "message": "gone", "data": {"exitCode": 3}},
    }


def error(text: str, **more: Any) -> dict[str, Any]:
    return {"id": 1, "result": {"content": [{"type": "text", "text": text}], "isError": True, **more}}


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        (error('a "b"\\'), error('a "b"\\\n\nTRY é')),
        (
            error('{"e": 1}'),
            {
                "id": 1,
                "result": {
                    "content": [{"type": "text", "text": '{"e": 1}'}, {"type": "text", "text": "TRY é"}],
                    "isError": True,
                },
            },
        ),
        (
            {"id": 1, "result": {"content": [], "isError": True}},
            {"id": 1, "result": {"content": [{"type": "text", "text": "TRY é"}], "isError": True}},
        ),
        (error("x", structuredContent={"a": 1}), None),
        ({"id": 1, "error": {"code": 1, "message": "m"}}, {"id": 1, "error": {"code": 1, "message": "m\n\nTRY é"}}),
        ({"id": 1, "error": {"code": 1}}, None),
        ({"id": 1, "result": {"isError": True}}, None),
        (
            {"id": 1, "result": {"content": [{"type": "text", "text": "Error: x"}]}},
            {"id": 1, "result": {"content": [{"type": "text", "text": "Error: x"}, {"type": "text", "text": "TRY é"}]}},
        ),
    ],
)
def test_a_hint_goes_where_the_form_of_the_failure_has_a_place(body: dict[str, Any], changed: object) -> None:
    line = json.dumps(body).encode() + b"\n"

    hinted = with_hint(line, body, "TRY é", has_output_schema=False)

    assert (hinted and json.loads(hinted)) == changed
    assert hinted is None or hinted.endswith(b"\n")


def test_a_soft_failure_of_a_tool_with_an_output_schema_gets_no_hint() -> None:
    body = {"id": 1, "result": {"content": [{"type": "text", "text": "Error: x"}]}}

    assert with_hint(json.dumps(body).encode(), body, "TRY", has_output_schema=True) is None


def test_a_long_failure_gets_no_hint() -> None:
    body = error("x" * 70_000)

    assert with_hint(json.dumps(body).encode(), body, "TRY", has_output_schema=False) is None


def test_a_hint_changes_no_other_byte() -> None:
    content = b'[ {"text":"no\\u0021","type":"text"}]'
    line = b'{ "result":{"x":1.0,"n":12345678901234567890123,"isError":true,"content":' + content + b'},"id":1E0 }\r\n'

    hinted = with_hint(line, json.loads(line), "T", has_output_schema=False)

    assert hinted == line.replace(b"no\\u0021", b"no\\u0021\\n\\nT")


@given(JSON)
@settings(deadline=None)
def test_every_value_of_a_document_is_found_where_it_stands(value: Any) -> None:
    raw = json.dumps({"pad": [1, {"a": "]}"}], "here": [0, value]}, indent=1).encode()

    span = locate(raw, ("here", 1))

    assert span is not None
    assert json.loads(raw[span[0] : span[1]]) == value


@given(st.binary(max_size=60))
@settings(deadline=None)
def test_locating_in_garbage_never_raises(raw: bytes) -> None:
    locate(raw, ("result", "content", 0))
