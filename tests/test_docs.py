"""The documents say what the code has: options, commands, hooks, and the two commands of the README."""

import argparse
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from rearview.cli import parser as command_line
from rearview.config import (
    Capture,
    Config,
    Decay,
    JournalOptions,
    Learner,
    LedgerOptions,
    ServerOptions,
    Tasks,
    ToolOptions,
    Warn,
)
from rearview_interceptors import Interceptor

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SECTIONS = {
    "capture": Capture, "warn": Warn, "tasks": Tasks, "journal": JournalOptions, "ledger": LedgerOptions,
    "learner": Learner, "decay": Decay,
}  # fmt: skip
LINES = {"proxy": 300, "interceptors": 300, "bench": 300, "tests": 500}
SHARED = {"--help", "--config", "--state", "--json", "--plain"}
# A page of this project talks about the thing, not about who made it, where, or how fine it is.
FORBIDDEN = re.compile(
    r"/work/(main|shared)|/opt/pypi|/tmp/rv|hindsight engine|blazing|seamless|leverag(e|ing)|cutting-edge",
    re.IGNORECASE,
)


def text_files() -> Iterator[Path]:
    for folder in ("proxy", "interceptors", "tests", "bench", "docs", ".ci"):
        yield from (file for file in ours(folder, "*") if file.suffix in {".py", ".md", ".toml", ""})
    yield from (
        ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "config.example.toml", "justfile")
    )


def ours(folder: str, pattern: str) -> Iterator[Path]:
    """Files of a folder that we wrote; tests may have installed servers of others below it."""
    return (file for file in sorted((ROOT / folder).rglob(pattern)) if "node_modules" not in file.parts)


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from parsers(inner)


def test_the_example_file_names_every_option_with_its_default_and_nothing_else() -> None:
    told = tomllib.loads((ROOT / "config.example.toml").read_text("utf-8"))

    expected = {name: Config._field_defaults[name] for name in ("owner", "interceptors", "environment")}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in expected.items()}
    assert told == {**plain, **{name: section()._asdict() for name, section in SECTIONS.items()}}
    assert set(Config._fields) == {*expected, *SECTIONS, "servers", "project", "notes"}


def test_every_option_has_its_default_in_the_documents() -> None:
    page = (DOCS / "configuration.md").read_text("utf-8")

    for name, section in SECTIONS.items():
        chapter = page.partition(f"## [{name}]\n")[2].partition("\n## ")[0]
        for key, value in section()._asdict().items():
            shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
            assert f"| `{key}` | `{shown}` |" in chapter
    for key in ("owner", "interceptors", "environment", *ServerOptions._fields[:2], *ToolOptions._fields):
        assert f"`{key}`" in page


def test_every_command_with_every_option_is_in_the_documents() -> None:
    page = (DOCS / "commands.md").read_text("utf-8")

    for parser in parsers(command_line.build()):
        name, _, action = parser.prog.removeprefix("mcp-rearview").strip().partition(" ")
        assert not name or f"## mcp-rearview {name}\n" in page
        chapter = page.partition(f"## mcp-rearview {name}\n")[2].partition("\n## ")[0] if name else page
        assert not action or f"`{action}" in chapter
        for flag in {flag for each in parser._actions for flag in each.option_strings if flag.startswith("--")}:
            assert flag in chapter or (flag in SHARED and flag in page)


def test_every_hook_of_an_interceptor_is_in_the_documents() -> None:
    page = (DOCS / "interceptors.md").read_text("utf-8")

    hooks = {name: hook for name, hook in vars(Interceptor).items() if inspect.isfunction(hook)}

    for name, hook in hooks.items():
        arguments = ", ".join(list(inspect.signature(hook).parameters)[1:])
        assert f"| `{name}({arguments})` |" in page


def test_ci_runs_the_second_command_of_the_readme() -> None:
    blocks = fenced((ROOT / "README.md").read_text("utf-8"), "sh")

    assert blocks[1].strip() == (ROOT / ".ci" / "run").read_text("utf-8").splitlines()[-1]


def test_the_commands_of_the_readme_exist() -> None:
    blocks = fenced((ROOT / "README.md").read_text("utf-8"), "sh")
    commands = [shlex.split(command) for block in blocks for command in re.split(r"\n|&&", block) if command.strip()]

    parsed = [
        command_line.build().parse_args(words[1:]).command
        for words in commands
        if Path(words[0]).name == "mcp-rearview"
    ]

    assert parsed == ["demo", "status", "lessons", "calls", "serve"]


def test_every_link_between_the_documents_leads_somewhere() -> None:
    links = [
        (page, target)
        for page in [*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    ]

    assert [target for page, target in links if not (page.parent / target).exists()] == []


def test_help_teaches_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("demo", "status", "lessons", "calls", "learn"):
        assert command_line.run([name, "--help"]) == 0

        told = capsys.readouterr().out
        assert f"examples:\n  mcp-rearview {name}" in told


def test_no_file_outgrows_one_idea() -> None:
    files = [file for folder in LINES for file in ours(folder, "*.py")]

    too_long = [
        str(file.relative_to(ROOT))
        for file in files
        if len(file.read_text("utf-8").splitlines()) >= LINES[file.relative_to(ROOT).parts[0]]
    ]

    assert too_long == []


def test_no_page_names_this_machine_or_praises_itself() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in text_files()
        if file.is_file() and file != Path(__file__)
        for match in FORBIDDEN.finditer(file.read_text("utf-8", errors="replace"))
    ]

    assert found == []


def test_the_lock_pins_every_dependency_by_hash_and_names_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [
        re.split(r"[<>=!~\[ ]", each)[0]
        for each in (*project["project"]["dependencies"], *project["dependency-groups"]["dev"])
    ]

    pinned = re.findall(r"^([a-z0-9-]+)==\S+.*\\\n    --hash=sha256:", lock, re.MULTILINE)

    assert set(wanted) <= set(pinned)
    assert "://" not in lock
    assert len(pinned) == len(re.findall(r"^[a-z0-9-]+==", lock, re.MULTILINE))


def test_the_version_is_the_installed_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    done = subprocess.run(
        [sys.executable, "-I", "-m", "rearview.cli.main", "--version"], capture_output=True, text=True, check=True
    )

    assert done.stdout == f"mcp-rearview {project['version']}\n"
