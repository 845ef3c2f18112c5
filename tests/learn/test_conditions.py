"""Keys say what holds for a call; an error blames only what it names of the call's own arguments."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.tasks import digest_of
from rearview.learn.conditions import (
    conditions_of,
    field_of,
    forms_named_by,
    key_of,
    meets,
    named_by,
    parse,
    violations,
)
from rearview.learn.facets import Facets
from rearview_interceptors.api import Condition, Kind

LACKING = "MCP error -32602: Input validation error: Invalid arguments for tool read: Required at path"
PYDANTIC = (
    "Error executing tool git_status: 1 validation error for statusArguments\n{key}\n  {message} "
    "[type={type}, input_value={{'path': '/srv/shop'}}, input_type=dict]\n    For further information visit https://x.y"
)
FIELD_REQUIRED = PYDANTIC.format(key="repo_path", message="Field required", type="missing")
ZOD = (
    'Error: [\n  {\n    "code": "invalid_type",\n    "expected": "EXPECTED",\n    "received": "RECEIVED",\n'
    '    "path": [\n      "KEY"\n    ],\n    "message": "MESSAGE"\n  }\n]'
)


def zod(key: str, expected: str, received: str, message: str) -> str:
    text = ZOD.replace("EXPECTED", expected).replace("RECEIVED", received)
    return text.replace("KEY", key).replace("MESSAGE", message)


GROUNDED: list[tuple[str, dict[str, Any], str, Kind, list[str]]] = [
    ("zod in one line", {"file": "/a/b"}, LACKING, Kind.ARGUMENT, ["lack:path"]),
    (
        "zod, nested",
        {"edits": [{"old": "a"}]},
        "Invalid arguments: Required at edits[0].oldText",
        Kind.ARGUMENT,
        ["lack:edits[].oldText"],
    ),
    (
        "zod, newer",
        {"x": 1},
        "Invalid input: expected string, received undefined at message",
        Kind.ARGUMENT,
        ["lack:message"],
    ),
    ("zod as JSON", {"file": "/a"}, zod("path", "string", "undefined", "Required"), Kind.ARGUMENT, ["lack:path"]),
    ("pydantic", {"path": "/srv/shop"}, FIELD_REQUIRED, Kind.ARGUMENT, ["lack:repo_path"]),
    (
        "JSON Schema",
        {"table": "parts"},
        "Input validation error: 'table_name' is a required property",
        Kind.ARGUMENT,
        ["lack:table_name"],
    ),
    (
        "Python",
        {"a": 1},
        "TypeError: f() missing 1 required positional argument: 'name_of_it'",
        Kind.ARGUMENT,
        ["lack:name_of_it"],
    ),
    (
        "a list wanted",
        {"paths": "a.txt"},
        "Invalid arguments: Expected array, received string at paths",
        Kind.ARGUMENT,
        ["key:paths=relpath", "key:paths=string"],
    ),
    (
        "a list wanted, JSON",
        {"paths": "/a"},
        zod("paths", "array", "string", "Expected array, received string"),
        Kind.ARGUMENT,
        ["key:paths=abspath", "key:paths=string"],
    ),
    (
        "an object given",
        {"edits": {"a": 1}},
        "Invalid arguments: Expected array, received object at edits",
        Kind.ARGUMENT,
        ["key:edits=object"],
    ),
    (
        "an extra key",
        {"file": "/a"},
        "TypeError: f() got an unexpected keyword argument 'file'",
        Kind.ARGUMENT,
        ["key:file=abspath", "key:file=string"],
    ),
    (
        "a value",
        {"branch": "master", "repo": "/srv/a"},
        "Ref 'master' did not resolve",
        Kind.NOT_FOUND,
        ["value:branch=master"],
    ),
    (
        "a value at a place",
        {"branch": "master", "repo": "/srv/a"},
        "no branch 'master' in /srv/a",
        Kind.NOT_FOUND,
        ["value:branch=master", "value:branch=master&repo=/srv/a"],
    ),
    (
        "two values",
        {"flight": "HAT1", "date": "2026-01-02"},
        "flight HAT1 not available on 2026-01-02",
        Kind.NOT_FOUND,
        ["value:date=2026-01-02&flight=HAT1"],
    ),
    ("a common word is no value", {"type": "file"}, "no such file or directory", Kind.NOT_FOUND, []),
    ("part of a word is no value", {"q": "art"}, "department is unknown", Kind.NOT_FOUND, []),
    (
        "a quoted table",
        {"sql": "SELECT a FROM usr u"},
        "Table 'db.usr' doesn't exist",
        Kind.NOT_FOUND,
        ["name:tbl:usr"],
    ),
    ("a bare table", {"sql": "SELECT a FROM usr"}, "no such table: usr", Kind.NOT_FOUND, ["name:tbl:usr"]),
    (
        "a table without its schema",
        {"sql": "SELECT a FROM usr"},
        'relation "usr" does not exist',
        Kind.NOT_FOUND,
        ["name:tbl:usr"],
    ),
    (
        "a table with its schema",
        {"sql": "SELECT a FROM app.usr"},
        'relation "app.usr" does not exist',
        Kind.NOT_FOUND,
        ["name:col:app.usr", "name:tbl:app.usr"],
    ),
    (
        "a column behind an alias",
        {"sql": "SELECT u.age FROM usr u"},
        "column u.age does not exist",
        Kind.NOT_FOUND,
        ["name:col:usr.age"],
    ),
    (
        "escaped quotes",
        {"sql": "SELECT a FROM usr"},
        '{"error": "relation \\"usr\\" does not exist"}',
        Kind.NOT_FOUND,
        ["name:tbl:usr"],
    ),
    (
        "a Python name",
        {"code": "import os\nx = foo(1)\nprint(x)"},
        "NameError: name 'foo' is not defined",
        Kind.OTHER,
        ["name:free:foo"],
    ),
    (
        "a shell word",
        {"cmd": "npm run build-all --now please"},
        'Missing script: "build-all"',
        Kind.NOT_FOUND,
        ["name:build-all"],
    ),
    (
        "a Python module that lacks a name",
        {"code": "import numpy\nx = numpy.foo(1)\nprint(x)"},
        "module 'numpy' has no attribute 'foo'",
        Kind.OTHER,
        ["name:attr:foo"],
    ),
    (
        "the place of a column",
        {"sql": "SELECT age FROM usr"},
        "Unknown column 'age' in 'usr'",
        Kind.NOT_FOUND,
        ["name:col:usr.age"],
    ),
    ("nothing", {"a": "b"}, "", Kind.OTHER, []),
]


@pytest.mark.parametrize(
    ("arguments", "error", "kind", "expected"), [g[1:] for g in GROUNDED], ids=[g[0] for g in GROUNDED]
)
def test_an_error_blames_what_it_names(arguments: dict[str, Any], error: str, kind: Kind, expected: list[str]) -> None:
    facets = Facets(arguments)

    found = named_by(error, facets, kind)

    assert found == expected
    assert all(meets(key, facets) for key in found)


def test_with_a_schema_only_keys_that_it_knows_can_be_lacking() -> None:
    schema = {"properties": {"path": {"type": "string"}}}

    assert named_by("Missing required parameter: password", Facets({}), Kind.ARGUMENT, schema) == []
    assert named_by("Missing required parameter: path", Facets({}), Kind.ARGUMENT, schema) == ["lack:path"]


DENIED = "Access denied - path outside allowed directories: {} not in /srv/demo/files"
BORDER = "class:path=abspath!^/srv/demo/files"
FORMS: list[tuple[str, dict[str, Any], str, Kind, list[str]]] = [
    (
        "folders outside",
        {"path": "/etc/ssh/x"},
        DENIED.format("/etc/ssh/x"),
        Kind.FORBIDDEN,
        [BORDER, "class:path=abspath^/etc", "class:path=abspath^/etc/ssh", "class:path=abspath^/etc/ssh/x"],
    ),
    (
        "never what holds the allowed folder",
        {"path": "/srv/demo/git/x"},
        DENIED.format("/srv/demo/git/x"),
        Kind.FORBIDDEN,
        [BORDER, "class:path=abspath^/srv/demo/git", "class:path=abspath^/srv/demo/git/x"],
    ),
    (
        "dots resolved",
        {"path": "/srv/demo/files/../db/x"},
        DENIED.format("/srv/demo/db/x"),
        Kind.FORBIDDEN,
        [BORDER, "class:path=abspath^/srv/demo/db", "class:path=abspath^/srv/demo/db/x"],
    ),
    (
        "closely, where no border is named",
        {"path": "/srv/a/b/x"},
        "EACCES: permission denied, open '/srv/a/b/x'",
        Kind.FORBIDDEN,
        ["class:path=abspath^/srv/a/b", "class:path=abspath^/srv/a/b/x"],
    ),
    ("a missing file blames no folder", {"path": "/srv/a"}, "ENOENT: no such file, open '/srv/a'", Kind.NOT_FOUND, []),
    ("upwards, denied", {"path": "../b"}, DENIED.format("/home/b"), Kind.FORBIDDEN, ["class:path=uppath"]),
    ("up and down, denied", {"path": "a/../../b"}, DENIED.format("/home/b"), Kind.FORBIDDEN, ["class:path=uppath"]),
    ("a home, denied", {"path": "~/b"}, DENIED.format("/home/me/b"), Kind.FORBIDDEN, ["class:path=homepath"]),
    ("dots that stay inside", {"path": "a/../b"}, DENIED.format("/home/me/b"), Kind.FORBIDDEN, []),
    ("a hidden file, resolved", {"path": ".env"}, "cannot open /home/me/.env", Kind.OTHER, ["class:path=word"]),
    ("a relative path, denied", {"path": "a/b"}, DENIED.format("/home/a/b"), Kind.FORBIDDEN, ["class:path=relpath"]),
    (
        "a relative path, resolved",
        {"path": "a/b"},
        "/home/me/a/b",
        Kind.NOT_FOUND,
        ["class:path=relpath"],
    ),
    ("a missing file", {"path": "a/b"}, "ENOENT: no such file, open '/home/me/a/b'", Kind.NOT_FOUND, []),
    (
        "a relative path in an address",
        {"path": "a/b"},
        "GET https://api.example.org/repos/x/a/b: 404 Not Found",
        Kind.NOT_FOUND,
        [],
    ),
    (
        "resolved where the call says",
        {"repo": "/srv/r", "file": "a/b"},
        "no such file: '/srv/r/a/b'",
        Kind.NOT_FOUND,
        [],
    ),
    ("a relative path that is just not there", {"path": "a/b"}, "a/b not found", Kind.NOT_FOUND, []),
    (
        "a date",
        {"day": "12/05/2026"},
        "time data '12/05/2026' does not match format '%Y-%m-%d'",
        Kind.ARGUMENT,
        ["class:day=otherdate", "pattern:day~##/##/####"],
    ),
    (
        "a date, not repeated",
        {"start": "12/05/2026"},
        "Invalid date, use YYYY-MM-DD",
        Kind.ARGUMENT,
        ["class:start=otherdate", "pattern:start~##/##/####"],
    ),
    ("a time", {"time": "3pm"}, "Invalid time format. Expected HH:MM", Kind.ARGUMENT, ["pattern:time~#pm"]),
    ("a good date on a bad day", {"day": "2026-05-12"}, "2026-05-12 must be in the future", Kind.ARGUMENT, []),
    (
        "another argument",
        {"time": "15:00", "zone": "Berlin"},
        "Invalid timezone: 'No time zone found with key Berlin'",
        Kind.ARGUMENT,
        [],
    ),
]


@pytest.mark.parametrize(("arguments", "error", "kind", "expected"), [f[1:] for f in FORMS], ids=[f[0] for f in FORMS])
def test_an_error_may_point_at_a_form(arguments: dict[str, Any], error: str, kind: Kind, expected: list[str]) -> None:
    assert forms_named_by(error, Facets(arguments), kind) == expected


@pytest.mark.parametrize(
    ("mended", "expected"),
    [
        ({"path": "/srv/shelf/a/b"}, ["class:path=relpath"]),
        ({"path": "/srv/shelf/a/c"}, []),
        ({"path": "a/c"}, []),
        ({"other": "/srv/shelf/a/b"}, []),
    ],
)
def test_a_missing_file_that_an_absolute_path_finds_was_a_matter_of_form(
    mended: dict[str, Any], expected: list[str]
) -> None:
    error = "ENOENT: no such file, open '/home/me/a/b'"

    assert forms_named_by(error, Facets({"path": "./a/b"}), Kind.NOT_FOUND, Facets(mended)) == expected


KEYS = [
    ("exact:00ff", ""),
    ("value:a.b[]=x", "a.b[]"),
    ("value:a=1&b=2", "a"),
    ("name:tbl:users", ""),
    ("key:paths=string", "paths"),
    ("lack:path", "path"),
    ("tool:", ""),
    ("shape:a=word|b=num+", ""),
    ("class:path=abspath^/etc/a=b", "path"),
    ("class:path=abspath!^/etc/a%3Db&/srv", "path"),
    ("pattern:day~##/##", "day"),
    ("schema:required:path", "path"),
    ("schema:type:paths=string", "paths"),
]


@pytest.mark.parametrize(("key", "field"), KEYS)
def test_a_key_can_be_taken_apart_and_put_together(key: str, field: str) -> None:
    parsed = parse(key)

    assert parsed is not None
    assert field_of(key) == field
    assert parsed.condition is Condition.TOOL or key_of(parsed.condition, *parsed.parts) == key


@pytest.mark.parametrize("key", ["", "nonsense", "nonsense:x", "session_exact:00", "path"])
def test_what_is_no_key_is_met_by_nothing(key: str) -> None:
    assert parse(key) is None
    assert not meets(key, Facets({}), "00")


@pytest.mark.parametrize(
    ("key", "arguments", "expected"),
    [
        ("value:a=1&b=x", {"a": 1, "b": "x"}, True),
        ("value:a=1&b=x", {"a": 1, "b": "y"}, False),
        ("key:a=array", {"a": ["x"]}, True),
        ("key:a=word", {"a": "x"}, True),
        ("key:a=word", {"a": 1}, False),
        ("class:p=abspath^/etc", {"p": "/etc/hosts"}, True),
        ("class:p=abspath^/etc", {"p": "/etcetera"}, False),
        ("pattern:u~@example.org", {"u": "https://example.org/x"}, True),
        ("schema:required:p", {}, True),
        ("schema:extra:p", {"p": 1}, True),
        ("schema:type:p=string", {"p": "x"}, True),
        ("schema:type:p=string", {"p": ["x"]}, False),
        ("tool:", {}, True),
    ],
)
def test_a_call_meets_a_condition_or_not(key: str, arguments: dict[str, Any], expected: bool) -> None:
    assert meets(key, Facets(arguments)) is expected


SCHEMA = {
    "properties": {
        "path": {"type": "string"},
        "head": {"type": "integer"},
        "mode": {"enum": ["r", "w"]},
        "any": {"anyOf": [{"type": "string"}]},
        "depth": {"type": "number", "default": 3},
    },
    "required": ["path", "depth"],
}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "/a"}, []),
        ({"path": "/a", "head": 5, "mode": "r", "any": [], "depth": 1}, []),
        ({"path": "/a", "more": 1}, []),
        ({"file": "/a"}, ["schema:required:path", "schema:extra:file"]),
        ({"path": ["/a"]}, ["schema:type:path=array"]),
        ({"path": "/a", "head": "5"}, ["schema:type:head=string"]),
        ({"path": "/a", "mode": "x"}, ["schema:enum:mode"]),
        ({"path": "[redacted:x]", "mode": "[redacted:x]"}, []),
    ],
)
def test_a_schema_is_held_against_a_call_only_where_it_is_plain(arguments: dict[str, Any], expected: list[str]) -> None:
    assert violations(SCHEMA, arguments) == expected


def test_extra_keys_count_where_the_schema_forbids_them() -> None:
    assert violations(SCHEMA | {"additionalProperties": False}, {"path": "/a", "more": 1}) == ["schema:extra:more"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)
json_objects = st.dictionaries(st.text(max_size=8), json_values, max_size=5)


@settings(deadline=None)
@given(json_objects)
def test_every_condition_of_a_call_is_met_by_it(arguments: dict[str, Any]) -> None:
    facets, digest = Facets(arguments), digest_of("t", {})

    keys = conditions_of(facets, digest)

    assert [key for key in keys if not meets(key, facets, digest)] == []


@settings(deadline=None)
@given(json_objects, st.text(max_size=200), st.sampled_from([*Kind, None]))
def test_nothing_makes_grounding_raise_and_what_is_named_is_met(
    arguments: dict[str, Any], error: str, kind: Kind | None
) -> None:
    facets = Facets(arguments)
    echoed = error + " ".join(f"'{value}' at {path}: required" for path, value in facets.leaves)

    for text in (error, echoed):
        found = [*named_by(text, facets, kind), *forms_named_by(text, facets, kind)]
        assert [key for key in found if not meets(key, facets)] == []


@settings(deadline=None)
@given(json_objects | st.none(), json_objects)
def test_no_schema_makes_the_preflight_raise(schema: dict[str, Any] | None, arguments: dict[str, Any]) -> None:
    assert isinstance(violations({"properties": schema, "required": list(arguments)} | (schema or {}), arguments), list)
