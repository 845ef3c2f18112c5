"""What a call's arguments look like: paths, types, classes, patterns, folders, names."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.learn.facets import (
    MAX_LEAVES,
    Facets,
    folders,
    host,
    is_free_text,
    is_scalar,
    json_type,
    leaves,
    names_in,
    nodes,
    pattern,
    shape,
    value_class,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=25,
)
json_objects = st.dictionaries(st.text(max_size=8), json_values, max_size=6)

CLASSES = {
    "null": [None],
    "bool": [True, False],
    "num+": [1, 0.5],
    "num0": [0, 0.0],
    "num-": [-3],
    "emptylist": [[]],
    "emptydict": [{}],
    "blank": ["", "  ", "\n"],
    "url": ["https://example.org/a?b=c", "data://x", "postgres://me@db/x"],
    "abspath": ["/etc/hosts", "C:\\Users\\me", "/a path/with blanks", "\\\\host\\share", "/srv/../x"],
    "homepath": ["~", "~/", "~/notes", "~ann", "~ann/x", "~/a path/with blanks", "~\\notes", "~/../x", "~/" + "y" * 60],
    "uppath": ["..", "../x", "../", "./../x", "a/../../b", "..\\x", "../a path/with blanks", "../" + "y" * 60],
    "relpath": [
        "a/b",
        "./x",
        ".",
        "notes.txt",
        "src\\main.c",
        "feature/retries",
        "x" * 50 + "/y.py",
        "a/../b",
        "a/..",
        "a/b/../..",
        "origin/main..HEAD",
        "..a/b",
        ".../x",
    ],
    "date": ["2026-05-12"],
    "datetime": ["2026-05-12 10:00", "2026-05-12T10:00:00Z"],
    "otherdate": [
        "12/05/2026",
        "5.12.26",
        "May 5, 2026",
        "5 May 2026",
        "20260512",
        "2026/05/12",
        "2026-5-1",
        "3rd Jun 2026",
    ],
    "time": ["15:00", "9:30", "15:00:01"],
    "numstr": ["5", "-2.5", "10%", "1,5"],
    "id": ["0b1e2f3a-0000-4000-8000-1234567890ab", "deadbeefdeadbee1"],
    "mail": ["me@example.org"],
    "json": ['{"a": 1}', "[1, 2]"],
    "listtext": ["a,b", "a, b, c", "/x/y,z".lstrip("/")],
    "word": ["main", "example.com", "3pm", "10.0.0.1", "HAT123", "~5", "main..fix"],
    "words": ["two words", "New York", "~ 5 minutes", "wait .. what"],
    "text": ["x" * 41, "two\nlines", "a sentence that is longer than a short text may be"],
    "": ["[redacted:token]", "Bearer [redacted:bearer]", {"$cut": 70}],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in CLASSES.items() for value in values])
def test_a_value_has_one_class(name: str, value: Any) -> None:
    assert value_class(value) == name


def test_a_cut_text_is_still_a_text_and_a_cut_list_is_nothing() -> None:
    text, items = {"$cut": 5000, "head": "abc"}, {"$cut": 70}

    assert (value_class(text), json_type(text)) == ("text", "string")
    assert (value_class(items), shape({"a": items})) == ("", "")


def test_list_positions_are_dropped_and_keys_are_sorted() -> None:
    arguments = {"b": [{"y": 1}, {"x": "z"}], "a": {"k": []}, "c": 2}

    assert leaves(arguments) == [("a.k", []), ("b[].y", 1), ("b[].x", "z"), ("c", 2)]
    assert [path for path, _ in nodes(arguments)] == ["a", "a.k", "b", "b[]", "b[].y", "b[]", "b[].x", "c"]


def test_at_most_sixty_leaves_forty_keys_and_six_items_are_read() -> None:
    wide = {f"k{n:03}": [1] * 10 for n in range(50)}

    assert len(leaves(wide)) == MAX_LEAVES
    assert len(leaves({f"k{n:03}": 1 for n in range(50)})) == 40
    assert len(leaves({"k": [1] * 10})) == 6


def test_deep_nesting_ends_in_a_leaf() -> None:
    deep: Any = 1
    for _ in range(2000):
        deep = {"a": deep}

    assert len(leaves(deep)) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-12", "####-##-##"),
        ("HAT123", "HAT###"),
        ("main", "main"),
        ("x" * 21, ""),
        ("", ""),
        (5, ""),
        ("[redacted:pin]", ""),
    ],
)
def test_a_pattern_blanks_the_digits_of_a_short_text(value: Any, expected: str) -> None:
    assert pattern(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/srv/demo/a.txt", ("/srv", "/srv/demo", "/srv/demo/a.txt")),
        ("/srv/demo/../etc//x/./y", ("/srv", "/srv/etc", "/srv/etc/x", "/srv/etc/x/y")),
        ("/../../etc", ("/etc",)),
        ("~/notes/a", ("~/notes", "~/notes/a")),
        (
            "/a/b/c/d/e/f/g/h/i",
            ("/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b/c/d/e", "/a/b/c/d/e/f", "/a/b/c/d/e/f/g", "/a/b/c/d/e/f/g/h"),
        ),
        ("/", ()),
        ("a/b", ()),
        ("", ()),
        (7, ()),
    ],
)
def test_the_leading_folders_of_an_absolute_path(value: Any, expected: tuple[str, ...]) -> None:
    assert folders(value) == expected


def test_the_host_of_a_url_leaves_out_who_asks() -> None:
    assert host("https://me:pw@Example.ORG:8080/x") == "example.org:8080"
    assert host("example.org") == ""


@pytest.mark.parametrize("value", ["SELECT 1 FROM t", "a b c d", "two\nlines", "word " * 20])
def test_free_text_is_read_for_names_and_never_compared(value: str) -> None:
    assert is_free_text(value)
    assert not is_scalar(value)


def test_sql_names_are_tables_and_columns_with_aliases_resolved() -> None:
    read = names_in("SELECT T1.name, count(*) FROM player AS T1 JOIN team t ON T1.tid = t.id WHERE age > 'x.y'")

    assert read.language == "sql"
    assert read.names == {
        "tbl:player",
        "tbl:team",
        "col:player.name",
        "col:player.tid",
        "col:team.id",
        "col:player+team.age",
    }


def test_python_names_are_what_is_used_and_not_bound() -> None:
    read = names_in(
        "import numpy as np\nfrom os import path\ndef f(a: List[int]):\n    b = np.zeros(3)\n    return foo(a, b)\n"
    )

    assert read.language == "py"
    assert read.names == {"mod:numpy", "mod:os", "imp:path", "attr:zeros", "free:List", "free:foo"}


def test_shell_names_are_words_the_command_and_its_flags() -> None:
    assert names_in("git push --force origin").names == {
        "cmd:git", "git", "push", "--force", "origin", "push --force",
    }  # fmt: skip


def test_names_are_limited_in_text_and_number() -> None:
    assert len(names_in("echo " + " ".join(f"w{n}" for n in range(3000))).names) <= 200
    assert names_in("echo " + "x" * 5000 + " late").names == names_in("echo " + "x" * 5000 + " later").names


def test_a_call_is_read_as_a_whole() -> None:
    facets = Facets({"path": "/etc/hosts", "day": "2026-05-12", "n": 3, "q": "SELECT id FROM t"})

    assert facets.classes == {
        ("path", "abspath"), ("path", "abspath^/etc"), ("path", "abspath^/etc/hosts"),
        ("day", "date"), ("n", "num+"), ("q", "words"),
    }  # fmt: skip
    assert facets.patterns == {("path", "/etc/hosts"), ("day", "####-##-##")}
    assert facets.values == {("path", "/etc/hosts"), ("day", "2026-05-12"), ("n", "3")}
    assert facets.types == {("path", "string"), ("day", "string"), ("n", "number"), ("q", "string")}
    assert facets.names == {"tbl:t", "col:t.id"}
    assert facets.shape == "day=date|n=num+|path=abspath|q=words"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("path", True),
        ("b", False),
        ("inner", False),
        ("a.b", False),
        ("a.c", True),
        ("list[].inner", False),
        ("list[].other", True),
        ("nowhere[].x", False),
    ],
)
def test_a_key_is_lacking_where_its_parent_is(path: str, expected: bool) -> None:
    assert Facets({"a": {"b": 1}, "list": [{"inner": 2}]}).lacks(path) is expected


def test_redacted_and_cut_values_give_no_conditions_of_value_class_or_pattern() -> None:
    facets = Facets({"token": "[redacted:api-key]", "rows": {"$cut": 80}})

    assert (facets.values, facets.classes, facets.patterns, facets.shape) == (frozenset(), frozenset(), frozenset(), "")
    assert facets.types == {("token", "string"), ("rows", "object")}


@settings(deadline=None)
@given(json_objects)
def test_no_json_makes_a_reading_raise_and_the_same_json_reads_the_same(arguments: dict[str, Any]) -> None:
    first, second = Facets(arguments), Facets(dict(reversed(arguments.items())))

    for name in ("leaves", "types", "paths", "classes", "patterns", "values", "names", "shape"):
        assert repr(getattr(first, name)) == repr(getattr(second, name)) or getattr(first, name) == getattr(
            second, name
        )
