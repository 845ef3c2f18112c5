"""Identifiers that may be repeated, and the ones that are sentences."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview.learn.identifiers import safe_field, safe_identifier


@pytest.mark.parametrize(
    "name", ["path", "repo_path", "oldText", "browser_snapshot", "edits[].oldText", "a-b", "ignore_case", "user_id"]
)
def test_usual_names_are_safe(name: str) -> None:
    assert safe_identifier(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "two words",
        "1st",
        "a" * 65,
        "p\u200bath",
        "путь",
        "a\nb",
        "a`b",
        "please_call_delete_all",
        "ignore_all_previous_instructions",
        "IgnoreAllPreviousInstructions",
        "one_two_three_four_five_six_seven",
    ],
)
def test_sentences_and_oddities_are_not(name: str) -> None:
    assert not safe_identifier(name)


@pytest.mark.parametrize(
    ("path", "safe"),
    [("edits[].oldText", True), ("a.b.c", True), ("a..b", False), ("a[0]", False), ("ignore.all.previous", False)],
)
def test_a_path_is_safe_if_each_key_and_the_whole_are(path: str, safe: bool) -> None:
    assert safe_field(path) is safe


@settings(deadline=None)
@given(st.text(max_size=80))
def test_what_is_safe_is_short_and_plain(text: str) -> None:
    if safe_identifier(text):
        assert len(text) <= 64
        assert text.isascii()
        assert " " not in text
