"""Reads the user's configuration file and checks every key, so that a mistake is named where it stands."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from rearview.config import (
    CAPTURE_MODES,
    MODES,
    Capture,
    CaptureMode,
    Config,
    Decay,
    JournalOptions,
    Learner,
    LedgerOptions,
    Mode,
    ServerOptions,
    Tasks,
    ToolOptions,
    Warn,
)
from rearview.errors import ConfigError

SHOWN_CHARS = 60
KEY_CHARS = 200
TAG_CHARS = 100

LOCALES = ("auto", "en", "zh")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "capture.mode": CAPTURE_MODES,
    "warn.mode": MODES,
    "warn.locale": LOCALES,
}
RANGES: Mapping[str, tuple[float, float]] = {
    "capture.result_chars": (0, 100_000),
    "warn.control_share": (0, 1),
    "warn.hold_min_trajectories": (1, 1000),
    "warn.budget_per_task": (0, 1000),
    "tasks.idle_gap_s": (0.1, 86_400),
    "journal.max_file_mb": (1, 1024),
    "journal.max_total_mb": (1, 102_400),
    "journal.retention_days": (0.01, 3650),
    "journal.queue_records": (100, 1_000_000),
    "ledger.calls_days": (0.01, 36_500),
    "ledger.evidence_days": (0.01, 36_500),
    "learner.idle_exit_s": (0, 86_400),
    "decay.half_life_days": (0.1, 3650),
}
TYPE_WORDS = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}


def read_user_file(path: Path) -> Config:
    """Check the whole file.

    Raises:
        ConfigError: the first thing in it that can't be used.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        message = f"{path}: can't be read ({error.strerror}): check its permissions"
        raise ConfigError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path}: is not UTF-8 (byte {error.start}): save it as UTF-8"
        raise ConfigError(message) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        message = f"{path}: is not TOML: {error}"
        raise ConfigError(message) from error
    return Reader(str(path)).config(table)


class Reader(NamedTuple):
    """Turns tables into options; `file` is what an error names first."""

    file: str

    def config(self, table: Mapping[str, Any]) -> Config:
        """Check a whole file's table; what it does not name keeps its default."""
        known = [name for name in Config._fields if name not in ("project", "notes")]
        self._known(table, known, "")
        return Config(
            owner=self._owner(table.get("owner", "")),
            interceptors=self._strings(table, "interceptors", _names_a_factory, 'looks like "package.module:factory"'),
            environment=self._strings(table, "environment", _is_tag, "has 1 to 100 printable characters"),
            capture=Capture(**self._section(table, "capture", Capture._field_defaults)),
            warn=Warn(**self._section(table, "warn", Warn._field_defaults)),
            tasks=Tasks(**self._section(table, "tasks", Tasks._field_defaults)),
            journal=JournalOptions(**self._section(table, "journal", JournalOptions._field_defaults)),
            ledger=LedgerOptions(**self._section(table, "ledger", LedgerOptions._field_defaults)),
            learner=Learner(**self._section(table, "learner", Learner._field_defaults)),
            decay=Decay(**self._section(table, "decay", Decay._field_defaults)),
            servers={
                name: self._server(f"servers.{name}", options)
                for name, options in self._table(table.get("servers", {}), "servers").items()
            },
        )

    def _section(self, table: Mapping[str, Any], name: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
        section = self._table(table.get(name, {}), name)
        self._known(section, list(defaults), name)
        return {key: self._value(f"{name}.{key}", value, defaults[key]) for key, value in section.items()}

    def _server(self, where: str, options: Any) -> ServerOptions:
        table = self._table(options, where)
        self._known(table, list(ServerOptions._fields), where)
        tools = self._table(table.get("tools", {}), f"{where}.tools")
        mode, capture = self._modes(table, where)
        named = {name: self._tool(f"{where}.tools.{name}", tool) for name, tool in tools.items()}
        return ServerOptions(mode, capture, named)

    def _tool(self, where: str, options: Any) -> ToolOptions:
        table = self._table(options, where)
        self._known(table, list(ToolOptions._fields), where)
        return ToolOptions(*self._modes(table, where))

    def _modes(self, table: Mapping[str, Any], where: str) -> tuple[Mode | None, CaptureMode | None]:
        mode, capture = table.get("mode"), table.get("capture")
        if mode is not None:
            self._one_of(f"{where}.mode", mode, MODES)
        if capture is not None:
            self._one_of(f"{where}.capture", capture, CAPTURE_MODES)
        return mode, capture

    def _value(self, key: str, value: Any, default: object) -> object:
        if key in CHOICES:
            self._one_of(key, value, CHOICES[key])
            return value
        wanted = type(default)
        # TOML has no way to write a float without a point that people would use; bool is an int to Python.
        fits = isinstance(value, int | float) if wanted is float else isinstance(value, wanted)
        if not fits or (isinstance(value, bool) and wanted is not bool):
            self._refuse(key, f"is {shown(value)}, but takes {TYPE_WORDS[wanted]} (default: {_toml(default)})")
        if key in RANGES:
            low, high = RANGES[key]
            if not low <= value <= high:
                self._refuse(key, f"is {value}, but takes {low} to {high} (default: {_toml(default)})")
        return float(value) if wanted is float else value

    def _one_of(self, key: str, value: Any, choices: tuple[str, ...]) -> None:
        if value not in choices:
            near = _near(value, choices)
            self._refuse(key, f"is {shown(value)}, but takes {', '.join(map(_toml, choices))}{near}")

    def _owner(self, value: Any) -> str:
        if not isinstance(value, str) or (value and not _is_tag(value)):
            self._refuse("owner", f"is {shown(value)}, but takes a name of at most 100 printable characters")
        return str(value)

    def _strings(self, table: Mapping[str, Any], key: str, fits: Callable[[str], bool], form: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list):
            self._refuse(key, f"is {shown(value)}, but takes a list of strings")
        for item in value:
            if not isinstance(item, str) or not fits(item):
                self._refuse(key, f"has {shown(item)}, but each entry {form}")
        return tuple(value)

    def _table(self, value: Any, key: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self._refuse(key, f"is {shown(value)}, but is a table: write [{key}]")
        return dict(value)

    def _known(self, table: Mapping[str, Any], known: list[str], section: str) -> None:
        for key in table:
            if key not in known:
                where = f"{section}.{key}" if section else key
                self._refuse(where, f"is no option{_near(key, known)}; there are {', '.join(known)}")

    def _refuse(self, key: str, why: str) -> NoReturn:
        message = f"{self.file}: {printable(key, KEY_CHARS)} {why}"
        raise ConfigError(message)


def shown(value: object) -> str:
    """A value as an error may print it: short, and nothing in it that a terminal obeys."""
    return printable(_toml(value), SHOWN_CHARS)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def printable(text: str, limit: int) -> str:
    """A text as an error may print it: cut to `limit` characters, and nothing in it that a terminal obeys."""
    plain = "".join(char if char.isprintable() else "?" for char in text)
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"


def _near(word: object, known: Sequence[str]) -> str:
    import difflib  # only a mistake needs it

    close = difflib.get_close_matches(str(word).lower(), known, n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def _names_a_factory(text: str) -> bool:
    module, _, factory = text.partition(":")
    return factory.isidentifier() and all(part.isidentifier() for part in module.split("."))


def _is_tag(text: str) -> bool:
    return 0 < len(text) <= TAG_CHARS and text.isprintable()
