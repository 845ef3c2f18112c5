"""What the configuration files may say, and what is said about what they may not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rearview.config import (
    Capture,
    Config,
    JournalOptions,
    ServerOptions,
    Tasks,
    ToolOptions,
    Warn,
    default_path,
    load,
)
from rearview.errors import ConfigError

PROJECT_ROOT = Path(__file__).parent.parent


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_without_any_file_everything_has_its_default_and_the_owner_is_the_user(tmp_path: Path) -> None:
    config = load(None, tmp_path, {"HOME": str(tmp_path)})

    assert config == Config(owner=config.owner)
    assert config.owner


def test_a_file_changes_what_it_names_and_nothing_else(file: Path) -> None:
    file.write_text(
        """
        owner = "ada"
        interceptors = ["mine.rules:make"]
        environment = ["staging"]
        [capture]
        mode = "narrow"
        [warn]
        control_share = 0
        [tasks]
        idle_gap_s = 2
        [journal]
        queue_records = 500
        [servers.git]
        mode = "hint"
        [servers.git.tools.git_commit]
        capture = "off"
        """
    )

    assert load(file, None, {}) == Config(
        owner="ada",
        interceptors=("mine.rules:make",),
        environment=("staging",),
        capture=Capture(mode="narrow"),
        warn=Warn(control_share=0.0),
        tasks=Tasks(idle_gap_s=2.0),
        journal=JournalOptions(queue_records=500),
        servers={"git": ServerOptions(mode="hint", tools={"git_commit": ToolOptions(capture="off")})},
    )


def test_the_example_file_says_exactly_the_defaults() -> None:
    config = load(PROJECT_ROOT / "config.example.toml", None, {})

    assert config == Config(owner=config.owner)


def test_the_flag_beats_the_variable_and_the_variable_beats_the_usual_place(tmp_path: Path) -> None:
    usual = default_path({"XDG_CONFIG_HOME": str(tmp_path)})
    usual.parent.mkdir()
    files = {"usual": usual, "variable": tmp_path / "variable.toml", "flag": tmp_path / "flag.toml"}
    for owner, path in files.items():
        path.write_text(f'owner = "{owner}"')
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    named = {**environ, "REARVIEW_CONFIG": str(files["variable"])}

    owners = [load(None, None, environ).owner, load(None, None, named).owner, load(files["flag"], None, named).owner]

    assert owners == ["usual", "variable", "flag"]


def test_an_empty_variable_and_a_relative_xdg_folder_count_as_unset(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative", "REARVIEW_CONFIG": ""}

    assert load(None, None, environ).warn == Warn()
    assert default_path(environ) == tmp_path / ".config" / "rearview" / "config.toml"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[warn]\nmode = "holt"', 'warn.mode is "holt", but takes "observe", "hint", "hold" (did you mean "hold"?)'),
        (
            "[warn]\ncontrol_shore = 0.5",
            'warn.control_shore is no option (did you mean "control_share"?); there are mode, control_share, hold_min_',
        ),
        ("[warn]\ncontrol_share = 10", "warn.control_share is 10, but takes 0 to 1 (default: 0.1)"),
        ("[warn]\ncontrol_share = nan", "warn.control_share is nan, but takes 0 to 1 (default: 0.1)"),
        ("[warn]\nbudget_per_task = true", "warn.budget_per_task is true, but takes a whole number (default: 3)"),
        ("[warn]\nbudget_per_task = 1.5", "warn.budget_per_task is 1.5, but takes a whole number (default: 3)"),
        ('[tasks]\nidle_gap_s = "5m"', 'tasks.idle_gap_s is "5m", but takes a number (default: 300.0)'),
        ("[capture]\nemail = 1", "capture.email is 1, but takes true or false (default: false)"),
        ('capture = "off"', 'capture is "off", but is a table: write [capture]'),
        ("[servers.git]\nmode = 3", 'servers.git.mode is 3, but takes "observe", "hint", "hold"'),
        (
            "[servers.git.tools.x]\ncapture = []",
            'servers.git.tools.x.capture is [], but takes "off", "narrow", "full"',
        ),
        ("[servers.git]\nmute = true", "servers.git.mute is no option"),
        ('[servers]\ngit = "hint"', 'servers.git is "hint", but is a table: write [servers.git]'),
        ('interceptors = ["os.system"]', 'interceptors has "os.system", but each entry looks like "package.module:fac'),
        ('environment = ["a\\u001b[2J"]', 'environment has "a?[2J", but each entry has 1 to 100 printable characters'),
        ("owner = 7", "owner is 7, but takes a name of at most 100 printable characters"),
        ('[warn]\nmode = "hold', "is not TOML"),
        ("[learning]", "learning is no option"),
        ("[ledger]\ncalls_days = 0", "ledger.calls_days is 0, but takes 0.01 to 36500 (default: 90.0)"),
    ],
)
def test_a_mistake_is_named_with_its_file_its_key_and_what_is_allowed(file: Path, text: str, complaint: str) -> None:
    file.write_text(text)

    with pytest.raises(ConfigError) as raised:
        load(file, None, {})

    assert str(raised.value).startswith(f"{file}: {complaint}")


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"

    with pytest.raises(ConfigError, match=r"none\.toml: there is no such file \(--config names it\)"):
        load(missing, None, {})
    with pytest.raises(ConfigError, match=r"none\.toml: there is no such file \(REARVIEW_CONFIG names it\)"):
        load(None, None, {"REARVIEW_CONFIG": str(missing)})


def test_a_name_that_begins_at_home_is_found_without_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.toml").write_text('owner = "ada"')

    assert load(None, None, {"REARVIEW_CONFIG": "~/mine.toml"}).owner == "ada"


def test_a_folder_in_the_way_is_one_error_for_the_user_and_none_for_a_project(tmp_path: Path) -> None:
    # Longer than any file system takes: looking at it fails whoever we are.
    odd = tmp_path / ("x" * 300)

    with pytest.raises(ConfigError, match="can't be looked at"):
        load(odd, None, {})
    assert load(None, odd, {"HOME": str(tmp_path)}).notes == ()


def test_a_file_that_is_not_text_is_refused(file: Path) -> None:
    file.write_bytes(b"owner = '\xff'")

    with pytest.raises(ConfigError, match="is not UTF-8"):
        load(file, None, {})


def test_the_tool_s_word_counts_before_the_server_s_and_the_server_s_before_the_general_one() -> None:
    tools = {"commit": ToolOptions(mode="hold", capture="full")}
    config = Config(
        warn=Warn(mode="hint"),
        capture=Capture(mode="narrow"),
        servers={"git": ServerOptions(mode="observe", capture="off", tools=tools)},
    )

    modes = [config.mode_for("git", "commit"), config.mode_for("git", "log"), config.mode_for("fs", "read")]
    captures = [config.capture_for("git", "commit"), config.capture_for("git", "log"), config.capture_for("fs", "read")]

    assert modes == ["hold", "observe", "hint"]
    assert captures == ["full", "off", "narrow"]


def test_a_project_s_file_may_narrow_everywhere_also_what_the_user_set_for_one_tool(file: Path) -> None:
    file.write_text('[servers.git.tools.commit]\nmode = "hold"\ncapture = "full"')
    project = file.parent / "project"
    project.mkdir()
    (project / ".rearview.toml").write_text('[warn]\nmode = "observe"\n[capture]\nmode = "narrow"')

    config = load(file, project, {})

    assert (config.mode_for("git", "commit"), config.capture_for("git", "commit")) == ("observe", "narrow")
    assert config.notes == ()


def test_a_project_s_file_can_t_widen_anything(file: Path, tmp_path: Path) -> None:
    file.write_text('[warn]\nmode = "hint"\n[capture]\nmode = "off"\n[servers.git.tools.commit]\nmode = "observe"')
    project = tmp_path / ".rearview.toml"
    project.write_text(
        '[warn]\nmode = "hold"\n[capture]\nmode = "full"\n[servers.git]\nmode = "hold"\ncapture = "full"\n'
        '[servers.git.tools.commit]\nmode = "hold"\n'
    )

    config = load(file, project, {})

    assert (config.mode_for("git", "log"), config.mode_for("git", "commit")) == ("hint", "observe")
    assert config.capture_for("git", "log") == "off"


def test_everything_else_in_a_project_s_file_is_ignored_and_reported_in_one_line(tmp_path: Path) -> None:
    project = tmp_path / ".rearview.toml"
    project.write_text(
        'owner = "root"\ninterceptors = ["evil:run"]\nurl = "x"\n'
        '[warn]\nmode = "hint"\nbudget_per_task = 99\n[servers.git]\nmode = "loud"\ncapture = "off"\n'
        "[learner]\nenabled = false\n"
    )

    config = load(None, project, {"HOME": str(tmp_path)})

    assert config._replace(owner="", project=None, notes=()) == Config()
    assert (config.mode_for("fs", "read"), config.capture_for("git", "log")) == ("hint", "off")
    assert [note.count("\n") for note in config.notes] == [0, 0]
    for name in ("owner", "interceptors", "url", "warn.budget_per_task", "learner"):
        assert name in config.notes[1]


def test_a_bad_value_in_a_project_s_file_is_told_with_its_place_and_what_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / ".rearview.toml"
    file.write_text('[warn]\nmode = "loud"\n[servers.git.tools.commit]\ncapture = "half\\u001b[2J"\n')

    config = load(None, tmp_path, {"HOME": str(tmp_path)})

    assert [note.removesuffix("; it was ignored: correct it") for note in config.notes] == [
        f'{file}: warn.mode is "loud", but takes "observe", "hint", "hold"',
        f'{file}: servers.git.tools.commit.capture is "half?[2J", but takes "off", "narrow", "full"',
    ]


@pytest.mark.parametrize("content", [b"[warn", b"\xff\xfe", b"a = " + b"[" * 20_000, b"#" * 70_000])
def test_a_broken_file_of_a_project_changes_nothing_but_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".rearview.toml").write_bytes(content)

    config = load(None, tmp_path, {"HOME": str(tmp_path)})

    assert config.mode_for("git", "log") == "hold"
    assert len(config.notes) == 1


def test_a_pipe_in_place_of_a_project_s_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".rearview.toml")

    config = load(None, tmp_path, {"HOME": str(tmp_path)})

    assert config.notes == ()


def test_a_machine_without_a_file_does_not_pay_for_reading_one(tmp_path: Path) -> None:
    code = (
        "import sys; from rearview.config import load; load(None, None, {'HOME': sys.argv[1]});"
        "print(sorted({'tomllib', 'difflib', 'dataclasses'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-I", "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
