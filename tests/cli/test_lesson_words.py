"""Lessons in words for the person who owns them."""

import pytest

from rearview.cli.lesson_words import condition_words, fix_words
from rearview_interceptors.api import Condition, Fix, Kind, Lesson


@pytest.mark.parametrize(
    ("condition", "key", "words"),
    [
        (Condition.EXACT, "exact:00ff", "exactly the same call"),
        (Condition.VALUE, "value:path=a=b", "path is a=b"),
        (Condition.NAME, "name:orders", "it names orders"),
        (Condition.KEY, "key:file=abspath", "file as abspath is given"),
        (Condition.LACK, "lack:path", "path is missing"),
        (Condition.TOOL, "tool:", "any call of the tool"),
        (Condition.CLASS, "class:path=relpath", "path is a relative path"),
        (Condition.PATTERN, "pattern:date~##.##.####", "date has the form ##.##.####"),
        (Condition.SCHEMA, "schema:required:path", "against the schema: required:path"),
    ],
)
def test_a_condition_says_what_about_the_call_makes_it_fail(condition: Condition, key: str, words: str) -> None:
    lesson = Lesson("l1", condition, key, "", Kind.ARGUMENT, 3, 3, 0.0, 0.9, loud=True)

    assert condition_words(lesson) == words


def test_every_condition_has_words() -> None:
    lessons = [Lesson("l1", each, f"{each}:x{{y}}", "", Kind.OTHER, 1, 1, 0.0, 0.9, loud=False) for each in Condition]

    assert all(condition_words(lesson) for lesson in lessons)


def test_a_remedy_says_in_how_many_tasks_it_worked() -> None:
    fixes = [Fix("rename", "file", "path", 1), Fix("convert", "date", "####-##-##", 3), Fix("wait")]

    assert [fix_words(fix) for fix in fixes] == [
        "say `path` for `file` (worked in 1 task)",
        "write `date` as ####-##-## (worked in 3 tasks)",
        "wait",
    ]
