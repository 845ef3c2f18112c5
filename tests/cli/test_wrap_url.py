from pathlib import Path

import pytest

from rearview.cli.wrap import Options, parse
from rearview.cli.wrap_url import own_headers
from rearview.errors import ConfigError


def test_an_address_takes_the_place_of_a_command() -> None:
    words = ["--url=http://h/mcp", "--header", "A: 1", "--header", "B: 2", "--header-file", "f", "--name", "n"]

    assert parse(words) == Options("n", "", (), "", "http://h/mcp", ("A: 1", "B: 2"), "f")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--url", "http://h/mcp", "--", "cat"], "one server at a time: either --url or a command"),
        (["--header", "A: 1", "--", "cat"], "--header and --header-file go with --url"),
        ([], "which server? give its command after --, or its address with --url"),
    ],
)
def test_what_does_not_go_together_is_said(words: list[str], told: str) -> None:
    assert parse(words) == told


def test_fields_come_from_the_command_line_and_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "fields"
    file.write_text("# a comment\n\nX-Team:  a: b \n")

    assert own_headers(("Authorization: Bearer x",), str(file)) == [
        (b"authorization", b"Bearer x"),
        (b"x-team", b"a: b"),
    ]


@pytest.mark.parametrize(
    "text", ["s3cret", ": s3cret", "a b: s3cret", "a: s3cret\nb: c", "Host: s3cret", "Mcp-Name: s3cret"]
)
def test_a_wrong_field_is_told_without_its_value(tmp_path: Path, text: str) -> None:
    file = tmp_path / "fields"
    file.write_text(text.replace("\n", "\0"))

    for given in (((text,), ""), ((), str(file))):
        with pytest.raises(ConfigError) as caught:
            own_headers(*given)
        assert "s3cret" not in str(caught.value)
