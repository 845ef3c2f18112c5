"""Reads a project's `.rearview.toml`, which may make Rearview quieter and write down less, and nothing else."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rearview.config import Capture, Config, ServerOptions, Warn
from rearview.config_file import Reader, printable, shown
from rearview.errors import ConfigError

FILE_LIMIT_BYTES = 64 * 1024
NAMED_AT_MOST = 10
REASON_CHARS = 400
NARROWING = ("[warn] mode", "[capture] mode", "mode and capture of [servers.NAME] and [servers.NAME.tools.TOOL]")


def read_project_file(path: Path) -> tuple[Config, tuple[str, ...]]:
    """Take from the file what narrows, and one line for each thing that is left out. Never raises for its content."""
    try:
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT_BYTES + 1)
        if len(data) > FILE_LIMIT_BYTES:
            return Config(), (f"{path}: is over {FILE_LIMIT_BYTES // 1024} KiB and was ignored: make it shorter",)
        table = tomllib.loads(data.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = printable(str(error), REASON_CHARS)
        return Config(), (f"{path}: can't be used and was ignored ({why}): correct it or delete it",)
    reader = Reader(str(path))
    limits = Config()
    ignored: list[str] = []
    wrong: list[str] = []
    for entry in _narrowing_entries(table):
        if entry.table is None:
            ignored.append(shown(entry.name))
            continue
        try:
            limits = _combined(limits, reader.config(entry.table))
        except ConfigError as error:
            wrong.append(f"{printable(str(error), REASON_CHARS)}; it was ignored: correct it")
    return limits, (*wrong[:NAMED_AT_MOST], *_too_wide(path, ignored))


def _too_wide(path: Path, ignored: list[str]) -> Iterator[str]:
    """One line for all that a project's file has no say in."""
    named = sorted(ignored)[:NAMED_AT_MOST]
    more = f" and {len(ignored) - len(named)} more" if len(ignored) > len(named) else ""
    if named:
        yield f"{path}: ignored {', '.join(named)}{more}; a project's file may only narrow {', '.join(NARROWING)}"


class _Entry(NamedTuple):
    """One setting of a project's file: the table that holds it alone, or `None` if a project may not set it."""

    name: str
    table: dict[str, Any] | None


def _narrowing_entries(table: Mapping[str, Any]) -> Iterator[_Entry]:
    for key, value in table.items():
        if key == "servers" and isinstance(value, dict):
            for server, options in value.items():
                yield from _server_entries(server, options)
        elif key in ("warn", "capture") and isinstance(value, dict):
            for name, setting in value.items():
                yield _Entry(f"{key}.{name}", {key: {name: setting}} if name == "mode" else None)
        else:
            yield _Entry(key, None)


def _server_entries(server: str, options: Any) -> Iterator[_Entry]:
    where = f"servers.{server}"
    if not isinstance(options, dict):
        yield _Entry(where, None)
        return
    for name, value in options.items():
        if name == "tools" and isinstance(value, dict):
            for tool, settings in value.items():
                yield _Entry(f"{where}.tools.{tool}", {"servers": {server: {"tools": {tool: settings}}}})
        else:
            narrows = name in ServerOptions._fields and name != "tools"
            yield _Entry(f"{where}.{name}", {"servers": {server: {name: value}}} if narrows else None)


def _combined(one: Config, other: Config) -> Config:
    """Both settings; each comes from its own place of one file, so that none is in both."""
    servers = dict(one.servers)
    for name, options in other.servers.items():
        known = servers.get(name, ServerOptions())
        servers[name] = ServerOptions(
            mode=options.mode or known.mode,
            capture=options.capture or known.capture,
            tools={**known.tools, **options.tools},
        )
    warn = other.warn if other.warn != Warn() else one.warn
    capture = other.capture if other.capture != Capture() else one.capture
    return one._replace(warn=warn, capture=capture, servers=servers)
