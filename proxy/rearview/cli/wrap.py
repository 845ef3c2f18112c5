"""`mcp-rearview wrap`: starts the server first, then itself. Imports next to nothing: an IDE waits for it."""

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rearview.transports.child import Child, CommandError, start

if TYPE_CHECKING:
    from rearview.app import Relay
    from rearview.core.calls import CallDesk
    from rearview.core.meeting import Observer

USAGE_ERROR = 2
SWITCH_SECONDS = 0.0005
GARBAGE_THRESHOLD = 20_000
USAGE = """usage: mcp-rearview wrap [--name NAME] [--config FILE] [--state FOLDER] -- COMMAND [ARG ...]

Put it before the command of an MCP server in your client's configuration. Every message passes untouched; calls that
are known to fail get a warning first.

  --name NAME      what to call the server (default: taken from its command)
  --config FILE    settings (default: REARVIEW_CONFIG, then ~/.config/rearview/config.toml)
  --state FOLDER   where to remember (default: REARVIEW_STATE_DIR, then ~/.local/state/rearview)

REARVIEW_DISABLE=1 in the environment runs COMMAND alone.

example: mcp-rearview wrap -- npx -y @modelcontextprotocol/server-filesystem /home/me/notes
"""


class Options(NamedTuple):
    """What the command line says."""

    name: str
    config: str
    command: tuple[str, ...]
    state: str = ""


_VALUES = ("--name", "--config", "--state")
_HELP = ("-h", "--help")


def main(argv: Sequence[str]) -> int:
    """Run the server and relay to it; the exit code is the server's."""
    options = parse(argv)
    if options == USAGE:
        sys.stdout.write(USAGE)
        return 0
    if isinstance(options, str):
        sys.stderr.write(f"mcp-rearview wrap: {options}\n{USAGE}")
        return USAGE_ERROR
    if os.environ.get("REARVIEW_DISABLE", "") not in {"", "0"}:
        return _become(options.command)
    _occupy_standard_descriptors()
    try:
        # First of all, so that the server starts while we do.
        child = start(options.command, os.environ)
    except CommandError as error:
        sys.stderr.write(f"mcp-rearview: {error}\n")
        return error.exit_code
    return _relay(options, child)


def parse(argv: Sequence[str]) -> Options | str:
    """Return the options, or what is wrong with them: the usage itself where that was asked for.

    Without `--`, the first word that is no option is the command.
    """
    values = dict.fromkeys(_VALUES, "")
    words = list(argv)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        if word in _HELP:
            return USAGE
        key, joined, value = word.partition("=")
        if key not in values:
            return _unknown(key)
        if not joined:
            if not words:
                return f"{key} wants a value"
            value = words.pop(0)
        values[key] = value
    if not words:
        return "which server? give its command after --"
    return Options(values["--name"] or _name(words), values["--config"], tuple(words), values["--state"])


def _unknown(option: str) -> str:
    from rearview.cli.nearest import did_you_mean  # only a mistake needs it

    if option in ("--json", "--plain"):
        return f"{option} is nothing for wrap, which prints nothing: its output is the server's"
    return f"there is no option {option}{did_you_mean(option, _VALUES)}; there are {', '.join(_VALUES)}"


def _name(command: Sequence[str]) -> str:
    from rearview.cli.naming import server_name  # a name that is given needs no guess

    return server_name(command)


def _occupy_standard_descriptors() -> None:
    """Open those of 0, 1 and 2 that a client closed: the next pipe would get their number, and its bytes."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            # The lowest free number, which is this one.
            os.open(os.devnull, os.O_RDWR)


def _become(command: Sequence[str]) -> int:
    try:
        os.execvp(command[0], list(command))  # noqa: S606 - running this very command is our work
    except OSError as error:
        sys.stderr.write(f"mcp-rearview: can't start {command[0]}: {error.strerror}\n")
        return 127


def _relay(options: Options, child: Child) -> int:
    from rearview.core.session import Session
    from rearview.log import report
    from rearview.transports.stdio import StdioRelay

    # The journal's thread holds the interpreter for 5 ms at a time otherwise, and a call would wait for that.
    sys.setswitchinterval(SWITCH_SECONDS)
    # What waits for the journal is no garbage, however much of it there is.
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)
    loaded: list[Relay] = []

    def load() -> "tuple[CallDesk, Observer]":
        from rearview.app import relay_for

        loaded.append(relay_for(options.name, options.config, options.command, options.state))
        return loaded[0].parts()

    try:
        return StdioRelay(options.command, Session(load), report).run(child)
    finally:
        for relay in loaded:
            relay.close()
