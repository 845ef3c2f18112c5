"""What a schema has against a call, and that no schema makes it fall over."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.learn.violations import Violation, violations_of

TEXT = {"type": "string"}
NESTED = {
    "type": "object",
    "properties": {"edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}}},
    "required": ["edits"],
    "$defs": {"Edit": {"type": "object", "properties": {"old": TEXT}, "required": ["old"]}},
}


@pytest.mark.parametrize(
    ("arguments", "schema", "found"),
    [
        ({"a": "x"}, {"properties": {"a": TEXT}, "required": ["a"]}, []),
        ({}, {"properties": {"a": TEXT}, "required": ["a"]}, [Violation("missing", "a", None, TEXT)]),
        ({}, {"properties": {"a": {"default": 1}}, "required": ["a"]}, []),
        ({"a": 1}, {"properties": {"a": TEXT}}, [Violation("type", "a", 1, TEXT)]),
        ({"a": None}, {"properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}}}, []),
        ({"a": 2.0}, {"properties": {"a": {"type": "integer"}}}, []),
        ({"a": True}, {"properties": {"a": {"type": "number"}}}, [Violation("type", "a", True, {"type": "number"})]),
        ({"a": "z"}, {"properties": {"a": {"enum": ["x"]}}}, [Violation("enum", "a", "z", {"enum": ["x"]})]),
        ({"b": 1}, {"properties": {"a": TEXT}, "additionalProperties": True}, []),
        ({"edits": [{"old": "a"}, {}]}, NESTED, [Violation("missing", "edits[].old", None, TEXT)]),
        ({"a": 1}, {}, []),
        ({"a": 1}, None, []),
    ],
)
def test_only_what_is_plain_is_found(arguments: Any, schema: Any, found: list[Violation]) -> None:
    assert violations_of(arguments, schema) == found


def test_a_schema_that_turns_in_circles_ends() -> None:
    loop = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        deep = {"anyOf": [deep]}

    assert violations_of({"a": 1}, loop) == []
    assert violations_of({"a": 1}, {"properties": {"a": deep}}) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "enum", "required", "properties", "items", "anyOf", "oneOf", "$ref", "a", "b"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@settings(deadline=None)
@given(JSON, st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_nothing_makes_it_raise(arguments: Any, schema: dict[str, Any]) -> None:
    assert len(violations_of(arguments, schema)) <= 20
