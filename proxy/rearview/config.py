"""What the user has decided: every option with its default, and where the files are that change it.

The values are named tuples, not dataclasses: a relay makes these classes at each start, and a named tuple costs a
fifth of a frozen dataclass there.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from rearview.errors import ConfigError

Mode = Literal["observe", "hint", "hold"]
CaptureMode = Literal["off", "narrow", "full"]

# Both are sorted from the narrowest to the widest; a project may only move to the left.
MODES: tuple[Mode, ...] = ("observe", "hint", "hold")
CAPTURE_MODES: tuple[CaptureMode, ...] = ("off", "narrow", "full")

PROJECT_FILE = ".rearview.toml"


class Capture(NamedTuple):
    """What is written down of a call: all of it, names and outcomes without values (`narrow`), or nothing."""

    mode: CaptureMode = "full"
    result_chars: int = 2000
    email: bool = False


class Warn(NamedTuple):
    """How loud Rearview may become, and how often."""

    mode: Mode = "hold"
    control_share: float = 0.1
    hold_min_trajectories: int = 2
    budget_per_task: int = 3
    locale: str = "auto"


class Tasks(NamedTuple):
    """Where one task ends and the next begins when the client does not say."""

    idle_gap_s: float = 300.0


class JournalOptions(NamedTuple):
    """Bounds of the journal; a full queue drops records and counts them, it never makes a call wait."""

    max_file_mb: int = 16
    max_total_mb: int = 256
    retention_days: float = 7.0
    queue_records: int = 10_000


class LedgerOptions(NamedTuple):
    """How long the ledger keeps calls, and what was learned of them after it was last met."""

    calls_days: float = 90.0
    evidence_days: float = 365.0


class Learner(NamedTuple):
    """Whether a background process may learn, and when it goes."""

    enabled: bool = True
    idle_exit_s: float = 120.0


class Decay(NamedTuple):
    """How fast old evidence loses weight, failures and successes alike."""

    half_life_days: float = 30.0


class ToolOptions(NamedTuple):
    """Overrides for one tool; `None` takes the server's."""

    mode: Mode | None = None
    capture: CaptureMode | None = None


class ServerOptions(NamedTuple):
    """Overrides for one server; `None` takes the general setting."""

    mode: Mode | None = None
    capture: CaptureMode | None = None
    tools: Mapping[str, ToolOptions] = {}


class Config(NamedTuple):
    """All options. Ask `mode_for` and `capture_for`: what `warn` and `capture` say may have been narrowed."""

    owner: str = ""
    interceptors: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    capture: Capture = Capture()
    warn: Warn = Warn()
    tasks: Tasks = Tasks()
    journal: JournalOptions = JournalOptions()
    ledger: LedgerOptions = LedgerOptions()
    learner: Learner = Learner()
    decay: Decay = Decay()
    servers: Mapping[str, ServerOptions] = {}
    # The two below come from `load`; no file can set them.
    project: "Config | None" = None
    notes: tuple[str, ...] = ()

    def mode_for(self, server: str, tool: str) -> Mode:
        """The narrower of what the user and what the project's file say about this tool."""
        options = self.servers.get(server, _NO_SERVER)
        mode = options.tools.get(tool, _NO_TOOL).mode or options.mode or self.warn.mode
        if self.project is None:
            return mode
        return min(mode, self.project.mode_for(server, tool), key=MODES.index)

    def capture_for(self, server: str, tool: str) -> CaptureMode:
        """The narrower of what the user and what the project's file say about this tool."""
        options = self.servers.get(server, _NO_SERVER)
        mode = options.tools.get(tool, _NO_TOOL).capture or options.capture or self.capture.mode
        if self.project is None:
            return mode
        return min(mode, self.project.capture_for(server, tool), key=CAPTURE_MODES.index)


_NO_SERVER = ServerOptions()
_NO_TOOL = ToolOptions()


def load(path: Path | None, project: Path | None, environ: Mapping[str, str]) -> Config:
    """Read the user's file and let the project's file narrow it.

    `path` is what `--config` named; without it `REARVIEW_CONFIG`, then the usual place, counts. `project` is a
    `.rearview.toml` or the folder to look for one in. `notes` of the result has one line for each thing in the
    project's file that was left out; the caller shows them once.

    Raises:
        ConfigError: a file that was named is not there, or the user's file can't be used.
    """
    named = path or (Path(environ["REARVIEW_CONFIG"]) if environ.get("REARVIEW_CONFIG") else None)
    file = named or default_path(environ)
    if str(file).startswith("~/"):
        # A client's configuration is no shell.
        file = file.expanduser()
    config = Config()
    if _is_there(file):
        from rearview import config_file  # costs tomllib, which a machine without a file need not pay

        config = config_file.read_user_file(file)
    elif named is not None:
        option = "--config" if path else "REARVIEW_CONFIG"
        message = f"{named}: there is no such file ({option} names it): create it or drop the option"
        raise ConfigError(message)
    config = config._replace(owner=config.owner or _os_user())
    return config if project is None else _narrowed(config, project)


def default_path(environ: Mapping[str, str]) -> Path:
    """Where the user's file is when nobody names one; XDG wants relative settings to be ignored."""
    base = environ.get("XDG_CONFIG_HOME", "")
    home = environ.get("HOME") or str(Path.home())
    return Path(base if os.path.isabs(base) else f"{home}/.config", "rearview", "config.toml")  # noqa: PTH117 - no Path for the empty string


def _is_there(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError as error:
        message = f"{file}: can't be looked at ({error.strerror}): check the permissions of its folder"
        raise ConfigError(message) from error


def _narrowed(config: Config, project: Path) -> Config:
    try:
        file = project / PROJECT_FILE if project.is_dir() else project
        # Only a regular file: a pipe of that name would keep the relay waiting for ever.
        if not file.is_file():
            return config
    except OSError:
        return config
    from rearview import config_project  # as above

    limits, notes = config_project.read_project_file(file)
    return config._replace(project=limits, notes=notes)


def _os_user() -> str:
    import pwd  # only POSIX has it

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
