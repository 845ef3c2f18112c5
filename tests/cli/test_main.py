"""The way from the command line to a command, and back as an exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from commands import Run
from rearview.cli.main import main


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


def test_wrap_behind_an_option_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "wrap"]) == 2

    assert "`wrap` comes first" in capsys.readouterr().err


def test_the_way_to_wrap_does_not_pass_argparse() -> None:
    code = (
        "import sys; from rearview.cli.main import main; main(['wrap', '--help']);"
        "print(sorted({'argparse', 'rich', 'sqlalchemy', 'subprocess', 'tomllib'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("[]\n")
