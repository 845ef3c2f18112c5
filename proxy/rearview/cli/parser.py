"""The command line of everything but `wrap`: what there is, and who does it."""

import os
from collections.abc import Sequence

from rearview.cli import calls, demo, learn, lessons, serve, status
from rearview.cli.context import read_context
from rearview.cli.options import CommandParser, add_shared

ABOUT = """\
Puts a relay between an MCP client and its server. The relay writes down what fails, learns from it when the task is
over, and from then on speaks up before a call that is known to fail."""

START = """\
start here:
  mcp-rearview demo                        see the whole thing in a few seconds; nothing is set up or kept
  mcp-rearview wrap -- npx some-server     put this in place of `npx some-server` in your client's configuration
  mcp-rearview status                      what is watched, what was learned, what is wrong
  mcp-rearview lessons                     what is known to fail
  mcp-rearview COMMAND --help              more, with examples
"""

WRAP = "relay a server on standard input and output: wrap [--name N] [--config FILE] [--state FOLDER] -- COMMAND ARG..."
COMMANDS = (demo, serve, status, lessons, calls, learn)


def build() -> CommandParser:
    """The parser with all subcommands."""
    parser = CommandParser(prog="mcp-rearview", description=ABOUT, epilog=START)
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    add_shared(parser, top=True)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    # Only for the list: `main` does not let argparse read the arguments of `wrap`.
    commands.add_parser("wrap", help=WRAP)
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        added = commands.add_parser(
            name,
            help=command.SUMMARY,
            description=f"{command.SUMMARY[0].upper()}{command.SUMMARY[1:]}.",
            epilog=f"examples:\n{command.EXAMPLES}",
        )
        add_shared(added)
        command.fill(added)
        added.set_defaults(run=command.run)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Read the arguments and run their command.

    Raises:
        RearviewError: what the user has to know, as one line.
    """
    parser = build()
    try:
        options = parser.read(arguments)
        if options.command == "wrap":
            # `main` found options in front of it that are none of the shared ones.
            parser.error(f"give `wrap` its options behind its name: {WRAP.partition(': ')[2]}")
    except SystemExit as left:
        # argparse has printed its help, or what is wrong, and would end the whole process.
        return int(left.code or 0)
    if options.version:
        from importlib.metadata import version

        print(f"mcp-rearview {version('mcp-rearview')}")
        return 0
    if options.command is None:
        parser.print_help()
        return 0
    code: int = options.run(read_context(options, os.environ), options)
    return code
