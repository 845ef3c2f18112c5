"""Broken settings and interceptors: the conversation is the same as without a relay."""

import sys
from pathlib import Path

import pytest
from surroundings import MODULE, QUIET, Surroundings, direct_answers, reports, talk

from wrapped import eventually

INTERCEPTOR = """
import os, sys, time
from rearview_interceptors import Hold, Interceptor

class Mine(Interceptor):
    def {hook}(self, *facts):
        {body}

def make():
    return Mine()
"""

BAD_HABITS = {
    "raises": "raise ValueError('x' * 1000)",
    "ends the process": "sys.exit(3)",
    "raises what is no Exception": "raise BaseException('x')",
    "stops a generator": "raise GeneratorExit",
    "sleeps": "time.sleep(0.004)",
    "returns nonsense": "return 7",
    "holds without a lesson": "return Hold(None)",
    "never comes back from itself": "return self.on_request(*facts)",
    "floods standard error": "sys.stderr.write('y' * 30_000)",
}


def with_module(around: Surroundings, text: str) -> list[str]:
    """A program that finds the user's module where the environment of an installed tool would have it."""
    around.config.write_text(f'interceptors = ["mine:make"]\n{QUIET}')
    library = around.folder / "library"
    library.mkdir()
    (library / "mine.py").write_text(text)
    code = f"import sys; sys.path.append({str(library)!r}); from mcp_rearview import main; sys.exit(main())"
    return [sys.executable, "-c", code]


@pytest.mark.parametrize("hook", ["on_request", "on_finished"])
@pytest.mark.parametrize("habit", BAD_HABITS)
def test_an_interceptor_can_do_what_it_wants(around: Surroundings, hook: str, habit: str) -> None:
    program = with_module(around, INTERCEPTOR.format(hook=hook, body=BAD_HABITS[habit]))

    with around.relay(program=program) as relay:
        answers = talk(relay)

    assert answers == direct_answers()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise RuntimeError('no')", "RuntimeError: no"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("def make(): raise SystemExit(4)", "SystemExit: 4"),
        ("def make(): return 7", "it is no rearview_interceptors.Interceptor"),
        ("make = None", "TypeError: 'NoneType' object is not callable"),
        ("def make(:", "SyntaxError"),
    ],
)
def test_an_interceptor_that_can_not_be_had_is_named_and_left_out(around: Surroundings, text: str, reason: str) -> None:
    program = with_module(around, text)

    with around.relay(program=program) as relay:
        answers = talk(relay)

    said = reports(relay.stderr)
    assert answers == direct_answers()
    assert [report["rearview"] for report in said] == ["interceptor.not_loaded"]
    assert reason in said[0]["reason"]
    assert any(reason in problem for problem in around.status()["problems"])


BROKEN_CONFIGS: list[bytes] = [
    b"[warn\n",
    b"\xff\xfe\x00",
    b"[warn]\nmode = 'louder'\n",
    b"no_such_option = 1\n",
    b"[journal]\nmax_file_mb = -1\n",
    b"interceptors = 'mine'\n",
    b"a = " + b"[" * 5000,
    b'[warn]\nmode = "\x1b[31m"\n',
    bytes(range(256)) * 40,
]


@pytest.mark.parametrize("content", BROKEN_CONFIGS, ids=range(len(BROKEN_CONFIGS)))
def test_a_broken_configuration_means_no_word_no_record_and_one_line(around: Surroundings, content: bytes) -> None:
    around.config.write_bytes(content)

    with around.relay() as relay:
        answers = talk(relay)

    said = reports(relay.stderr)
    assert answers == direct_answers()
    assert [report["rearview"] for report in said] == ["config.unusable"]
    assert str(around.config) in said[0]["reason"]
    assert not list(around.state.glob("journal/*"))


@pytest.mark.parametrize("content", BROKEN_CONFIGS, ids=range(len(BROKEN_CONFIGS)))
def test_status_says_in_one_line_what_is_wrong_with_the_configuration(around: Surroundings, content: bytes) -> None:
    around.config.write_bytes(content)

    done = around.command("status")

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert str(around.config) in done.stderr
    assert done.stderr[:-1].isprintable()


def test_a_configuration_that_is_not_there_is_reported(around: Surroundings) -> None:
    with around.relay(options=["--config", "/no/such/file"]) as relay:
        answers = talk(relay)

    assert answers == direct_answers()
    assert "/no/such/file" in reports(relay.stderr)[0]["reason"]


@pytest.mark.parametrize("content", [*BROKEN_CONFIGS, b"x" * 100_000], ids=range(len(BROKEN_CONFIGS) + 1))
def test_a_broken_project_file_is_ignored_with_one_line(around: Surroundings, content: bytes) -> None:
    project = around.folder / "project"
    project.mkdir()
    (project / ".rearview.toml").write_bytes(content)

    with around.relay(cwd=project) as relay:
        answers = talk(relay)
        assert eventually(lambda: len(list(around.state.glob("journal/*"))) == 1)

    assert answers == direct_answers()
    assert [report["rearview"] for report in reports(relay.stderr)] == ["config.project_ignored"]


@pytest.mark.parametrize("asked", ["~nobody-by-this-name/state", "/dev/null/state", "/proc/state", "x" * 300])
def test_a_state_folder_that_can_not_exist_is_reported_and_the_relay_relays(around: Surroundings, asked: str) -> None:
    with around.relay(REARVIEW_STATE_DIR=asked) as relay:
        answers = talk(relay)

    assert answers == direct_answers()
    assert [report["rearview"] for report in reports(relay.stderr)] == ["state.unusable"]
    done = around.command("status", REARVIEW_STATE_DIR=asked)
    assert "Traceback" not in done.stderr
    assert "REARVIEW_STATE_DIR" in done.stdout + done.stderr


def test_an_environment_without_a_home_or_a_path_is_no_reason_to_stop(around: Surroundings) -> None:
    env = around.environment()
    kept = [f"{name}={env[name]}" for name in ("REARVIEW_STATE_DIR", "REARVIEW_CONFIG")]
    program = ["env", "-i", *kept, *MODULE]

    with around.relay(program=program, cwd=Path("/")) as relay:
        answers = talk(relay)

    assert answers == direct_answers()
