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
       mcp-rearview wrap [...] --url URL [--header 'NAME: VALUE']... [--header-file FILE]

Put it before the command of an MCP server in your client's configuration, or in place of a server's address. Every
message passes untouched; calls that are known to fail get a warning first.

  --name NAME         what to call the server (default: taken from its command, or the host of URL)
  --config FILE       settings (default: REARVIEW_CONFIG, then ~/.config/rearview/config.toml)
  --state FOLDER      where to remember (default: REARVIEW_STATE_DIR, then ~/.local/state/rearview)
  --url URL           a server that speaks HTTP (streamable HTTP, every revision)
  --header FIELD      a field for every request to it; may be repeated
  --header-file FILE  such fields from a file, one a line: the place for a token

REARVIEW_DISABLE=1 in the environment runs COMMAND alone, or relays without looking.

examples: mcp-rearview wrap -- npx -y @modelcontextprotocol/server-filesystem /home/me/notes
          mcp-rearview wrap --url https://example.com/mcp --header-file token.txt
"""


class Options(NamedTuple):
    """What the command line says."""

    name: str
    config: str
    command: tuple[str, ...]
    state: str = ""
    url: str = ""
    headers: tuple[str, ...] = ()
    header_file: str = ""


_VALUES = ("--name", "--config", "--state", "--url", "--header", "--header-file")
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
    disabled = os.environ.get("REARVIEW_DISABLE", "") not in {"", "0"}
    if disabled and not options.url:
        return _become(options.command)
    _occupy_standard_descriptors()
    if options.url:
        from rearview.cli.wrap_url import relay_to  # asyncio costs more than all the rest of a start

        return relay_to(options, disabled=disabled)
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
    headers: list[str] = []
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
        headers += [value] if key == "--header" else []
    url, header_file = values["--url"], values["--header-file"]
    objection = _objection(words, url, bool(headers or header_file))
    if objection:
        return objection
    name = values["--name"] or (_name(words) if words else "")
    return Options(name, values["--config"], tuple(words), values["--state"], url, tuple(headers), header_file)


def _objection(command: Sequence[str], url: str, has_headers: bool) -> str:
    if command and url:
        return "one server at a time: either --url or a command"
    if has_headers and not url:
        return "--header and --header-file go with --url"
    return "" if command or url else "which server? give its command after --, or its address with --url"


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
