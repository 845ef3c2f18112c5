"""The matcher says of every call what the key language says, gives the best lesson first, and never takes long."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rearview.learn.conditions import conditions_of, key_of, meets
from rearview.learn.facets import Facets, leaves, nodes, shape
from rearview.learn.matching import WATCHDOG_SECONDS, Matcher
from rearview.learn.model import ScopedLesson
from rearview.learn.names import names_in
from rearview.learn.quick import NameFilter, quick_class, quick_folders, quick_free_text, quick_pattern, walk
from rearview.learn.values import folders, is_free_text, pattern, value_class
from rearview_interceptors.api import Call, Condition, Kind, Lesson

DIGEST = bytes(range(16))


def call(arguments: Mapping[str, Any], *, tool: str = "search", digest: bytes = DIGEST) -> Call:
    return Call(1, "travel", tool, arguments, digest, 0.0, "task", False, {})


def lesson(key: str, *, score: float = 0.8, loud: bool = False) -> Lesson:
    condition = next((c for c in Condition if key.startswith(c + ":")), Condition.EXACT)
    return Lesson(key, condition, key, "", Kind.ARGUMENT, 2, 2, 0.0, score, loud)


def scoped(*lessons: Lesson, env: str = "") -> list[ScopedLesson]:
    return [ScopedLesson("ann", "travel", "search", each, env) for each in lessons]


def matcher(*keys: str) -> Matcher:
    return Matcher(scoped(*(lesson(key) for key in keys)))


# ---------------------------------------------------------------- the same reading as the key language

words = st.sampled_from(
    [
        "", " ", "paris", "May 5", "5 may 2024", "2024-05-20",
        "20.05.2024", "2024-05-20 10:00", "10:30", "42", "-1.5", "HAT136",
        "/etc/passwd", "/etc//x/../hosts", "~/a b", "C:\\temp",
        "src/main.py", "main.py", "a.com", ".", "ann@example.com",
        "..", "../x", "a/../b", "a/../../b", "~", "~ann/x", "~ x", "/", "/srv", "/srv/shelf/a", "/srv/./shelf",
        "https://Example.com/x?y=1", "http://u:p@Host:80", "{}", "[1]",
        "a, b, c", "a,b", "one two", "one two three four",
        "123e4567-e89b-12d3-a456-426614174000", "0123456789abcdef", "[redacted:token]",
        "@home", "x" * 45, "x" * 45 + ".py",
        "x y " * 20, "x," * 30 + "x", "/srv/" + "y" * 90,
        "\t" * 50, "\r" * 50, "line\nline", "select name from visits v where v.id = 3",
        "SELECT a.x, b.y FROM t1 a JOIN t2 b ON a.id = b.id",
        "select 1a from 2b", "import os, sys\nprint(os.path, foo.bar(baz))",
        "ls -la /tmp && rm --force x:80 tbl:visits", "```python\nx = 1\ny.z(x)\n```",
        "git commit -m 'a b c'", "Ünï cödé text hére or so",
    ]
)  # fmt: skip
texts = words | st.text(max_size=12) | st.text("abcAB12 ./-_:,@[]~#&=%|\n", max_size=70)
numbers = st.integers(-3, 3) | st.sampled_from([0.0, 1.0, -2.5, 1e300])
cut = st.sampled_from([{"$cut": 3000, "head": "select a"}, {"$cut": 70}])
scalars = texts | numbers | st.booleans() | st.none() | cut
keys = st.sampled_from(["a", "b", "c", "id", "path", "a.b", "a[]", "", "x|y", "x=y", "#", "$cut", "ключ"])
inner = st.recursive(
    scalars, lambda below: st.lists(below, max_size=8) | st.dictionaries(keys, below, max_size=4), max_leaves=12
)
flat_arguments = st.dictionaries(keys, scalars, max_size=5)
any_arguments = flat_arguments | st.dictionaries(keys, inner, max_size=4)


ROOTS = ["/srv", "/etc&/srv/shelf", "/a%26b"]


def keys_about(arguments: Mapping[str, Any]) -> list[str]:
    """All keys that the learner could write about a call, of every type."""
    facets = Facets(arguments)
    values = sorted(facets.values)
    found = conditions_of(facets, DIGEST.hex())
    found += [key_of(Condition.VALUE, part) for part in values]
    found += [key_of(Condition.VALUE, *pair) for pair in pairwise(values)]
    found += [key_of(Condition.NAME, ("", name)) for name in sorted(facets.names)]
    found += [key_of(Condition.KEY, part) for part in sorted(facets.classes | facets.types)]
    found += [key_of(Condition.LACK, (path, "")) for path in sorted(facets.paths | facets.key_names)]
    strings = {path for path, value in facets.leaves if isinstance(value, str)}
    found += [key_of(Condition.CLASS, (path, f"abspath!^{roots}")) for path in sorted(strings) for roots in ROOTS]
    for path, kind in sorted(facets.types):
        found += [key_of(Condition.SCHEMA, (path, what)) for what in ("required", "extra", f"type={kind}")]
    return [key for key in found if key]


ODD_KEYS = [
    "", "exact:", "exact:zz", "exact:" + DIGEST.hex().upper(), "tool:",
    "shape:", "shape:#", "shape:a|b", "name:", "name:123",
    "value:", "value:a", "value:=", "value:a=&b=", "class:",
    "class:a", "class:a=", "class:a=abspath^", "key:a", "key:a=",
    "class:a=abspath!^", "class:a=abspath!^x", "class:a=abspath!^/srv/", "key:a=abspath!^/srv",
    "pattern:a~", "pattern:a~@", "pattern:a~@home", "lack:", "lack:a.", "lack:.a", "lack:a.b.c", "lack:a[]", "lack:zz",
    "schema:", "schema:enum:a", "schema:required:", "schema:extra:", "schema:type:a=", "weather:sun",
]  # fmt: skip


@settings(deadline=None)
@given(
    st.lists(any_arguments, min_size=1, max_size=3),
    st.lists(st.sampled_from(ODD_KEYS), max_size=6),
    st.randoms(use_true_random=False),
)
def test_a_call_meets_for_the_matcher_what_it_meets_for_the_learner(
    calls: list[dict[str, Any]], odd: list[str], random: Any
) -> None:
    known = sorted({key for arguments in calls for key in keys_about(arguments)} | set(odd))
    if len(known) > 150:
        known = random.sample(known, 150)
    compiled = matcher(*known)

    for arguments in [*calls, {}]:
        facets = Facets(arguments)
        met = {key for key in known if meets(key, facets, DIGEST.hex())}

        found = [each.key for each in compiled.match_all(call(arguments), limit=1000)]

        assert (set(found), len(found)) == (met, len(met))


def test_a_value_that_the_schema_does_not_list_is_met_once_the_schema_is_known() -> None:
    schemas: list[Mapping[str, Any]] = []
    listed = {"type": "object", "properties": {"order": {"type": "string", "enum": ["name", "size"]}, "free": {}}}
    known = scoped(lesson("schema:enum:order"), lesson("schema:enum:free"), lesson("schema:enum:gone"))
    compiled = Matcher(known, schema=lambda: schemas[-1] if schemas else None)
    calls = [call({"order": "date", "free": "x"}), call({"order": "size", "free": "x"}), call({"free": "x"})]

    before = [compiled.match(each) for each in calls]
    schemas.append(listed)
    after = [compiled.match(each) for each in calls]

    assert before == [None, None, None]
    assert after == [lesson("schema:enum:order"), None, None]


@settings(deadline=None)
@given(any_arguments, st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=200, max_size=200))
def test_the_match_is_the_first_of_all_matches(arguments: dict[str, Any], grades: list[tuple[float, bool]]) -> None:
    known = [*keys_about(arguments), "lack:zz", "lack:yy", "schema:required:zz"]
    graded = zip(sorted(set(known)), grades, strict=False)
    compiled = Matcher(scoped(*(lesson(key, score=score, loud=loud) for key, (score, loud) in graded)))

    best = compiled.match(call(arguments))

    assert best == next(iter(compiled.match_all(call(arguments), limit=1)), None)


@settings(deadline=None)
@given(texts | texts.map(lambda text: text * 3) | st.text(min_size=38, max_size=60))
@example("a.b" * 20)
@example("x" * 190 + ".html")
@example("../" + "x" * 60)
@example("..\\" + "x" * 60)
@example("~ann/" + "x" * 60)
@example("~" + "x" * 60)
def test_the_quick_reading_of_a_text_is_the_reading_of_the_learner(text: str) -> None:
    assert quick_class(text) == value_class(text)
    assert quick_free_text(text) == is_free_text(text)
    assert len(text) > 20 or quick_pattern(text) == pattern(text)


@settings(deadline=None)
@given(texts | st.text("ab/.~ ", max_size=12).map("/".__add__), st.integers(1, 7))
def test_the_quick_folders_are_the_first_folders_of_the_learner(text: str, depth: int) -> None:
    quick = quick_folders(text, depth)

    assert quick == folders(text)[: len(quick)]
    assert len(quick) >= min(depth, len(folders(text)))


@settings(deadline=None)
@given(any_arguments)
@example({"a": [{"b": n, "c": [1, 2]} for n in range(99)]})
@example({f"k{n}": {f"m{m}": m for m in range(50)} for n in range(50)})
def test_the_quick_walk_meets_the_nodes_and_leaves_that_the_learner_meets(arguments: dict[str, Any]) -> None:
    found = walk(arguments)

    assert found is not None
    assert [(path, value) for path, value, _ in found] == nodes(arguments)
    assert [(path, value) for path, value, is_leaf in found if is_leaf] == leaves(arguments)


@settings(deadline=None)
@given(texts | st.lists(words, max_size=4).map(" ".join))
def test_the_name_filter_lets_a_text_pass_for_each_name_in_it(text: str) -> None:
    assert [name for name in names_in(text).names if not NameFilter([name]).may_hold(text)] == []


def test_the_name_filter_keeps_most_texts_from_being_read() -> None:
    names = NameFilter(["tbl:visits", "col:players+teams.age", "free:np", "cmd:rm", "git --force", "3000"])
    texts = ["a letter about the weather in June", "select 1 from teams", "x = n_p + npx", "FORCED", "300 1000"]

    assert [text for text in texts if names.may_hold(text)] == []


def test_a_long_shape_is_known_by_its_hash() -> None:
    arguments = {f"a_rather_long_name_{n}": n for n in range(12)}
    key = key_of(Condition.SHAPE, ("", shape(arguments)))

    found = matcher(key).match(call(arguments))

    assert found is not None
    assert found.key.startswith("shape:#")


# ---------------------------------------------------------------- which one is best


def test_loud_comes_before_score_before_the_most_specific() -> None:
    arguments = {"city": "paris", "q": "select age from visits where city = 1"}
    facets = Facets(arguments)
    best_first = [
        lesson("tool:", score=0.76, loud=True),
        lesson("class:city=word", score=0.95),
        lesson(f"exact:{DIGEST.hex()}"),
        lesson("value:city=paris"),
        lesson("name:tbl:visits"),
        lesson("key:city=word"),
        lesson("lack:limit"),
        lesson("schema:required:limit"),
        lesson("pattern:city~paris"),
        lesson("class:q=words"),
        lesson(f"shape:{facets.shape}"),
    ]
    compiled = Matcher(scoped(*reversed(best_first)))

    assert compiled.match_all(call(arguments)) == best_first
    assert compiled.match_all(call(arguments), limit=2) == best_first[:2]
    assert compiled.match(call(arguments)) == best_first[0]


def test_a_lesson_of_another_environment_is_not_known_here() -> None:
    here, there, everywhere = lesson("value:a=1"), lesson("value:a=2"), lesson("value:a=3")
    lessons = [*scoped(here, env="project:x"), *scoped(there, env="project:y"), *scoped(everywhere)]
    compiled = Matcher(lessons, ("project:x", "os:linux"))

    found = [compiled.match(call({"a": value})) for value in (1, 2, 3)]

    assert found == [here, None, everywhere]


def test_a_path_below_a_folder_is_found_however_it_is_written() -> None:
    compiled = matcher("class:path=abspath^/etc")
    paths = ["/etc/passwd", "/etc", "/srv/../etc/x", "//etc//x", "/etcetera", "/", "etc/x", "~/etc"]

    assert [path for path in paths if compiled.match(call({"path": path}))] == paths[:4]


# ---------------------------------------------------------------- it never takes long


class Clock:
    """A clock that advances by a step each time it is read."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.mark.parametrize("arguments", [{"q": "select a from visits"}, {"a": {"b": 1}}])
def test_a_call_that_takes_longer_than_two_milliseconds_has_no_lesson(arguments: dict[str, Any]) -> None:
    lessons = scoped(*(lesson(key) for key in ("name:tbl:visits", "value:a.b=1")))
    slow, fast = (Matcher(lessons, clock=Clock(step)) for step in (WATCHDOG_SECONDS * 1.01, WATCHDOG_SECONDS / 10))

    found = [each.match(call(arguments)) is not None for each in (slow, fast)]

    assert found == [False, True]
    assert [(each.evaluated, each.gave_up) for each in (slow, fast)] == [(1, 1), (1, 0)]


def test_an_object_with_thousands_of_keys_is_not_sorted() -> None:
    compiled = matcher("value:a=1")

    assert compiled.match(call({"a": 1, "wide": {str(n): n for n in range(2001)}})) is None
    assert compiled.gave_up == 1
