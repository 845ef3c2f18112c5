"""The way from the command line to a command, and back as an exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from commands import Run
from rearview.cli import wrap
from rearview.cli.main import main
from wrapped import wrapped


def test_without_a_command_it_says_where_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0

    assert "start here:\n  mcp-rearview demo" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["fly"], ["status", "--fast"], ["lessons", "show"], ["--name", "x", "wrap"]])
def test_a_command_line_that_makes_no_sense_is_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    assert "usage: mcp-rearview" in capsys.readouterr().err


def test_a_broken_configuration_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[warn]\nmode = 'loud'")

    assert main(["status", "--config", str(config)]) == 2

    assert (
        capsys.readouterr().err
        == (
            f'mcp-rearview: {config}: warn.mode is "loud", but takes "observe", "hint", "hold" (did you mean "hold"?)\n'
        )
        or capsys.readouterr().err == ""
    )


def test_shared_options_may_stand_on_either_side_of_the_command(run: Run) -> None:
    assert run("--json", "status").data().keys() == run("status", "--json").data().keys()


def test_wrap_has_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wrap", "--help"]) == 0

    assert "mcp-rearview wrap" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--json", "wrap", "--", "x"], "--json is nothing for wrap"),
        (["--state", "folder", "wrap"], "which server?"),
        (["wrap", "--stat", "folder", "--", "x"], "there is no option --stat (did you mean --state?)"),
        (["wrap", "--state"], "--state wants a value"),
    ],
)
def test_what_wrap_does_not_understand_is_told_with_its_own_usage(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    told = capsys.readouterr().err
    assert told.startswith(f"mcp-rearview wrap: {complaint}")
    assert "usage: mcp-rearview wrap" in told


def test_wrap_remembers_in_the_state_folder_that_it_is_given_and_tells_the_server_nothing_of_it(tmp_path: Path) -> None:
    config, folder = tmp_path / "config.toml", tmp_path / "named"
    config.write_text("[learner]\nenabled = false\n")

    with wrapped(tmp_path, options=("--state", str(folder), f"--config={config}")) as relay:
        relay.hello()
        relay.text("echo", {"text": "hello"})

    assert list((folder / "journal").iterdir())
    assert not (tmp_path / "state").exists()


def test_options_in_front_of_wrap_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[wrap.Options | str] = []
    monkeypatch.setattr(wrap, "main", lambda argv: told.append(wrap.parse(argv)) or 0)

    for words in (
        ["--state", "s", "--config=c", "wrap", "--name", "n"],
        ["wrap", "--name=n", "--state=s", "--config", "c"],
    ):
        assert main([*words, "--", "server", "wrap"]) == 0

    assert told == [wrap.Options("n", "c", ("server", "wrap"), "s")] * 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["staus"], "'staus' is no command (did you mean status?); there are wrap, demo"),
        (["lessons", "mut", "x"], "'mut' is no action (did you mean mute?); there are list, show"),
        (["calls", "--fail"], "there is no option --fail (did you mean --failed?); there are"),
        (["--jsn", "status"], "there is no option --jsn (did you mean --json?)"),
        (["lessons", "export", "--forse", "x"], "there is no option --forse (did you mean --force?)"),
        (["status", "now"], "'now' is one word too many"),
    ],
)
def test_a_word_that_nobody_knows_is_answered_with_what_it_may_have_meant(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    assert f"error: {complaint}" in capsys.readouterr().err.replace("argument COMMAND: ", "")


def test_the_way_to_wrap_does_not_pass_argparse() -> None:
    code = (
        "import sys; from rearview.cli.main import main; main(['wrap', '--help']);"
        "print(sorted({'argparse', 'rich', 'sqlalchemy', 'subprocess', 'tomllib', 'difflib'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("[]\n")
