"""Values rewritten mechanically, and the ones that are left alone because they could mean two things."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.learn.conversions import to_absolute, to_form, to_member, to_path, to_type


@pytest.mark.parametrize(
    ("value", "form", "converted"),
    [
        ("1 Dec 2026", "####-##-##", "2026-12-01"),
        ("December 1st, 2026", "####-##-##", "2026-12-01"),
        ("2026/12/1", "date", "2026-12-01"),
        ("20261201", "####-##-##", "2026-12-01"),
        ("2026年12月1日", "####-##-##", "2026-12-01"),
        ("24/12/2026", "####-##-##", "2026-12-24"),
        ("12/24/2026", "####-##-##", "2026-12-24"),
        ("05/05/2026", "####-##-##", "2026-05-05"),
        ("03/04/2026", "####-##-##", None),
        ("32/12/2026", "####-##-##", None),
        ("2026-12-01", "####/##/##", "2026/12/01"),
        ("2026-12-01", "########", "20261201"),
        ("2026-12-01T10:00", "####-##-##", "2026-12-01"),
        ("2026-12-01T23:30Z", "####-##-##", None),
        ("2026-12-01", "####-##-##T##:##:##", None),
        ("2026-12-01 9:05", "####-##-##T##:##:##", "2026-12-01T09:05:00"),
        ("2026-12-01 3:05 PM", "####-##-## ##:##", "2026-12-01 15:05"),
        ("2026-12-01T10:00:00+02:00", "####-##-##T##:##:##Z", "2026-12-01T08:00:00Z"),
        ("2026-12-01T10:00:00", "####-##-##T##:##:##Z", None),
        ("2026-12-01T00:00:00Z", "unix", "1796083200"),
        ("2026-12-01T00:00:00", "unix", None),
        (1796083200, "####-##-##T##:##:##Z", "2026-12-01T00:00:00Z"),
        ("3pm", "##:##", "15:00"),
        ("12am", "time", "00:00"),
        ("noon", "##:##", "12:00"),
        ("9.30", "##:##", "09:30"),
        ("15:00:00", "##:##", "15:00"),
        ("15:00:20", "##:##", None),
        ("15:00", "##:##:##", "15:00:00"),
        ("25:10", "##:##", None),
        ("2026-12-01T10:00", "##:##", None),
        ("next friday", "####-##-##", None),
        ("2026-12-01", "####-##-##", None),
        ("0001-01-01T00:00:00+14:00", "unix", None),
        ("9999-12-31T23:59:59-12:00", "####-##-##T##:##:##Z", None),
        ("2026-12-01", "??", None),
        (True, "####-##-##", None),
        (["2026-12-01"], "####-##-##", None),
    ],
)
def test_dates_and_times_take_the_good_form_if_they_can_be_read_in_one_way(
    value: Any, form: str, converted: str | None
) -> None:
    assert to_form(value, form) == converted


@settings(deadline=None)
@given(st.dates(date(1900, 1, 1), date(2199, 12, 31)))
def test_a_day_survives_each_form(day: date) -> None:
    iso = day.isoformat()
    for form in ("####/##/##", "####.##.##"):
        other = to_form(iso, form)
        assert other is not None
        assert to_form(other, "####-##-##") == iso
    assert to_form(f"{day.day} {day.strftime('%B')} {day.year}", "####-##-##") == iso


@settings(deadline=None)
@given(st.dates(date(1900, 1, 1), date(2199, 12, 31)), st.integers(1, 11))
def test_a_day_that_could_be_a_month_is_never_guessed(day: date, months: int) -> None:
    first, second = day.month, (day.month + months - 1) % 12 + 1
    converted = to_form(f"{first:02}/{second:02}/{day.year}", "####-##-##")

    assert converted is None if first != second else converted == f"{day.year}-{first:02}-{first:02}"


@pytest.mark.parametrize(
    ("value", "base", "converted"),
    [
        ("src/app.py", "/data/demo", "/data/demo/src/app.py"),
        ("./a.py", "/data/demo/", "/data/demo/a.py"),
        (".", "/data/demo", "/data/demo"),
        ("src\\app.py", "/data/demo", "/data/demo/src/app.py"),
        ("a/../b", "/data/demo", "/data/demo/b"),
        ("../x", "/data/demo", None),
        ("demo/a.py", "/data/demo", None),
        ("/etc/passwd", "/data/demo", None),
        ("~/a", "/data/demo", None),
        ("C:\\a", "/data/demo", None),
        ("http://x/y", "/data/demo", None),
        ("", "/data/demo", None),
        ("a", "relative", None),
        (7, "/data/demo", None),
    ],
)
def test_a_relative_path_is_joined_below_its_base_and_never_leaves_it(
    value: Any, base: str, converted: str | None
) -> None:
    assert to_absolute(value, base) == converted


@settings(deadline=None)
@given(st.text(max_size=40))
def test_a_joined_path_stays_below_its_base(value: str) -> None:
    joined = to_absolute(value, "/data/demo")

    assert joined is None or joined == "/data/demo" or joined.startswith("/data/demo/")


@pytest.mark.parametrize(
    ("value", "form", "converted"),
    [
        ("file:///data/a.txt", "abspath", "/data/a.txt"),
        ("file://localhost/data/a.txt", "abspath", "/data/a.txt"),
        ("file:///data/a%20b.txt", "abspath", None),
        ("/src/a.py", "relpath", "src/a.py"),
        ("./src/a.py", "relpath", "src/a.py"),
        ("src\\a.py", "relpath", "src/a.py"),
        ("src/a.py", "relpath", None),
        ("src/a.py", "abspath", None),
        (3, "relpath", None),
        ("src/../lib/a.py", "relpath", "lib/a.py"),
        ("./src/../lib//a.py", "relpath", "lib/a.py"),
        ("../a.py", "relpath", None),
        ("src/../../a.py", "relpath", None),
        ("~/a.py", "relpath", None),
        ("~/a.py", "abspath", None),
        ("/data/src/../a.py", "abspath", None),
    ],
)
def test_paths_are_written_plainly(value: Any, form: str, converted: str | None) -> None:
    assert to_path(value, form) == converted


@pytest.mark.parametrize(
    ("value", "wanted", "converted"),
    [
        ("5", "number", 5),
        ("5", "integer", 5),
        ("2.5", "number", 2.5),
        ("2.5", "integer", None),
        (5.0, "integer", 5),
        ("ten", "integer", None),
        ("1e9", "number", None),
        ("true", "boolean", True),
        ("yes", "boolean", None),
        (12, "string", "12"),
        (True, "string", None),
        ("/a/b", "array", ["/a/b"]),
        ("a,b, c", "array", ["a", "b", "c"]),
        ("Dear Kim, how are you", "array", None),
        ('["a", 1]', "array", ["a", 1]),
        ("[oops", "array", None),
        (["/a/b"], "string", "/a/b"),
        ([7], "string", "7"),
        (["7"], "integer", 7),
        ([7], "integer", 7),
        (["a", "b"], "string", None),
        ([], "string", None),
        ([["a"]], "string", None),
        ([True], "string", None),
        (3, "array", [3]),
        (["a"], "array", None),
        ('{"a": 1}', "object", {"a": 1}),
        ("[1]", "object", None),
        ("x", "object", None),
        ("x", "nonsense", None),
    ],
)
def test_a_type_is_changed_only_by_writing_the_same_value_differently(value: Any, wanted: str, converted: Any) -> None:
    told = to_type(value, wanted)

    assert (told, type(told)) == (converted, type(converted))


@pytest.mark.parametrize(
    ("value", "members", "converted"),
    [
        ("new york", ["New York", "Chicago"], "New York"),
        ("in progress", ["in_progress", "done"], "in_progress"),
        ("OPEN", ["open", "Open"], None),
        ("open", ["open", "closed"], None),
        ("5", [5, 10], 5),
        ("blue", ["red"], None),
    ],
)
def test_an_enum_member_is_found_by_another_notation(value: Any, members: list[Any], converted: Any) -> None:
    assert to_member(value, members) == converted


@settings(deadline=None)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=4),
    st.sampled_from(["date", "##:##", "unix", "relpath", "abspath", "array", "object", "number", "integer", "string"])
    | st.text(),
)
def test_nothing_makes_a_conversion_raise(value: Any, form: str) -> None:
    to_form(value, form)
    to_path(value, form)
    to_type(value, form)
    to_absolute(value, form)
    to_member(value, [form, value])


@settings(deadline=None)
@given(st.integers(-(10**6), 10**6))
def test_any_distance_of_days_is_a_day(days: int) -> None:
    day = date(2026, 12, 1) + timedelta(days=days % 30_000)

    assert to_form(day.strftime("%Y/%m/%d"), "date") == day.isoformat()
