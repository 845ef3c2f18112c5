"""Lessons in words for the person who owns them."""

import pytest

from rearview.cli.lesson_words import condition_words, fix_words
from rearview_interceptors.api import Condition, Fix, Kind, Lesson


@pytest.mark.parametrize(
    ("condition", "key", "words"),
    [
        (Condition.EXACT, "exact:00ff", "exactly the same call"),
        (Condition.VALUE, "value:path=a=b", "path is a=b"),
        (Condition.VALUE, "value:path=a%26b&limit=3", "path is a&b and limit is 3"),
        (Condition.NAME, "name:orders", "it names orders"),
        (Condition.KEY, "key:file=abspath", "file is given as an absolute path"),
        (Condition.LACK, "lack:path", "path is missing"),
        (Condition.TOOL, "tool:", "any call of the tool"),
        (Condition.CLASS, "class:path=relpath", "path is a relative path"),
        (Condition.CLASS, "class:path=abspath^/srv/a", "path is an absolute path in /srv/a"),
        (Condition.CLASS, "class:path=abspath!^/a&/b", "path is an absolute path outside of /a and /b"),
        (
            Condition.PATTERN,
            "pattern:date~##.##.####",
            "date is two digits, a dot, two digits, a dot, four digits",
        ),
        (Condition.PATTERN, "pattern:path~§#§", "path is `§#§` (# is any digit)"),
        (Condition.PATTERN, "pattern:id~date", "id is `date`"),
        (Condition.PATTERN, "pattern:url~@example.org", "url is a URL of example.org"),
        (
            Condition.SHAPE,
            "shape:limit=num+|path=relpath",
            "these together: limit is a positive number, path is a relative path",
        ),
        (Condition.SHAPE, "shape:path=relpath", "path alone is given, as a relative path"),
        (Condition.SHAPE, "shape:#00ff", "all its arguments in the forms that they had"),
        (Condition.SHAPE, "shape:", "a call without arguments"),
        (Condition.SCHEMA, "schema:required:path", "path is missing, which the schema requires"),
        (Condition.SCHEMA, "schema:type:n=string", "n is given as a text, which the schema does not take"),
        (Condition.LACK, "no key of ours", "no key of ours"),
    ],
)
def test_a_condition_says_what_about_the_call_makes_it_fail(condition: Condition, key: str, words: str) -> None:
    lesson = Lesson("l1", condition, key, "", Kind.ARGUMENT, 3, 3, 0.0, 0.9, loud=True)

    assert condition_words(lesson) == words


def test_an_exact_call_is_told_where_it_is_known() -> None:
    lesson = Lesson("l1", Condition.EXACT, "exact:00ff", "", Kind.ARGUMENT, 3, 3, 0.0, 0.9, loud=True)

    assert condition_words(lesson, '{"path": "a"}') == 'exactly the call {"path": "a"}'


def test_every_condition_has_words() -> None:
    lessons = [Lesson("l1", each, f"{each}:x{{y}}", "", Kind.OTHER, 1, 1, 0.0, 0.9, loud=False) for each in Condition]

    assert all(condition_words(lesson) for lesson in lessons)


def test_a_remedy_says_in_how_many_tasks_it_worked() -> None:
    fixes = [Fix("rename", "file", "path", 1), Fix("convert", "time", "##:##", 3), Fix("wait")]

    assert [fix_words(fix) for fix in fixes] == [
        "say `path` for `file` (worked in 1 task)",
        "write `time` as hour:minute on the 24-hour clock, two digits each (worked in 3 tasks)",
        "wait",
    ]
