"""What was looked for and not found is blamed, the place in which it was looked for is not."""

from typing import Any

import pytest

from rearview.learn.conditions import forms_named_by, named_by
from rearview.learn.facets import Facets
from rearview.learn.kinds import kind_of
from rearview_interceptors.api import Grade, Kind

EDIT = {"path": "/w/a.py", "old": "foo(1)", "new": "bar"}
PLACES: list[tuple[dict[str, Any], str]] = [
    (EDIT, "Could not find exact match for edit in file /w/a.py"),
    (EDIT | {"match": "exact"}, "Could not find exact match for edit in file /w/a.py"),
    (EDIT, "Pattern not found in /w/a.py"),
    (EDIT, "String to replace not found in file '/w/a.py'"),
    (EDIT, "In /w/a.py: nothing was found"),
    (EDIT, "Unable to locate the snippet within the document `/w/a.py`."),
    (EDIT, "Found 3 matches in /w/a.py, but one is expected"),
    (EDIT, "/w/a.py does not contain that"),
    (EDIT, "Error editing /w/a.py: text not found"),
    (EDIT, "The string was not found. File: /w/a.py"),
    (EDIT | {"path": "notes.txt", "old": "x"}, 'No occurrences of "x" in notes.txt'),
    (EDIT | {"path": "/w/my file.py"}, "Text not found in '/w/my file.py'"),
    (EDIT | {"path": "C:\\w\\a.py"}, "Text not found in C:\\w\\a.py."),
    ({"repo": "octo/shop", "number": 41}, "No such issue in octo/shop"),
    (EDIT, "在文件 /w/a.py 中未找到要替换的文本"),
    (EDIT, "在 '/w/a.py' 中找不到匹配项"),
    (EDIT, "/w/a.py 不包含该内容"),
]


@pytest.mark.parametrize(("arguments", "error"), PLACES, ids=[error for _, error in PLACES])
def test_where_something_was_looked_for_is_not_what_was_not_found(arguments: dict[str, Any], error: str) -> None:
    facets = Facets(arguments)

    assert named_by(error, facets, kind_of(error, Grade.FLAGGED)) == []


@pytest.mark.parametrize(
    ("arguments", "error", "blamed"),
    [
        (EDIT, "ENOENT: no such file or directory, open '/w/a.py'", ["value:path=/w/a.py"]),
        (EDIT, "file not found: /w/a.py", ["value:path=/w/a.py"]),
        (EDIT, "File /w/a.py not found in /w", ["value:path=/w/a.py"]),
        (EDIT, "/w/a.py: No such file or directory", ["value:path=/w/a.py"]),
        (EDIT | {"path": "/etc"}, "Permission denied in /etc", ["value:path=/etc"]),
        ({"path": "/w/a.py"}, "no such file in /w/a.py", ["value:path=/w/a.py"]),
        (EDIT, "找不到文件 /w/a.py", ["value:path=/w/a.py"]),
        (EDIT, "文件 /w/a.py 不存在", ["value:path=/w/a.py"]),
        (
            EDIT | {"old": "foo"},
            "Could not find foo in /w/a.py",
            ["value:old=foo", "value:old=foo&path=/w/a.py"],
        ),
        (EDIT | {"old": "foo"}, "在 /w/a.py 中未找到 foo", ["value:old=foo", "value:old=foo&path=/w/a.py"]),
    ],
)
def test_what_was_not_found_is_blamed_wherever_it_was_looked_for(
    arguments: dict[str, Any], error: str, blamed: list[str]
) -> None:
    assert named_by(error, Facets(arguments), kind_of(error, Grade.FLAGGED)) == blamed


def test_a_relative_path_is_not_wrong_by_its_form_where_something_was_not_found_in_the_file() -> None:
    facets = Facets(EDIT | {"path": "notes/a.md"})

    assert forms_named_by("Could not find exact match in file /home/me/notes/a.md", facets, Kind.NOT_FOUND) == []
