"""What all commands share: the options that may stand before or behind a subcommand, and how help is laid out."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rearview.cli.nearest import did_you_mean
from rearview.errors import StoreError

SUBCOMMANDS = ("command", "action")
"""Where the parsers put the name of the command and of its action."""


class CommandParser(argparse.ArgumentParser):
    """Keeps the line breaks of our help texts and takes no abbreviated options, so that new ones break no script."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(**options)

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse a whole command line; an option that nobody knows is told by the parser whose command it came with.

        Raises:
            SystemExit: it makes no sense, which has been said, or it asked for help.
        """
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            self._chosen(options).refuse_word(unknown[0])
        return options

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.dest in SUBCOMMANDS and action.choices is not None and value not in action.choices:
            near = did_you_mean(str(value), action.choices)
            known = ", ".join(action.choices)
            raise argparse.ArgumentError(None, f"{value!r} is no {action.dest}{near}; there are {known}")
        super()._check_value(action, value)

    def _chosen(self, options: argparse.Namespace) -> "CommandParser":
        for action in self._actions:
            chosen = getattr(options, action.dest, None) if action.dest in SUBCOMMANDS else None
            if chosen is not None and isinstance(action.choices, Mapping):
                inner: CommandParser = action.choices[chosen]
                return inner._chosen(options)
        return self

    def refuse_word(self, word: str) -> NoReturn:
        """Say what is wrong with a word that is left over, and end."""
        name = word.partition("=")[0]
        if not name.startswith("-"):
            self.error(f"{word!r} is one word too many")
        known = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
        self.error(f"there is no option {name}{did_you_mean(name, known)}; there are {', '.join(known)}")


def add_shared(parser: argparse.ArgumentParser, *, top: bool = False) -> None:
    """Add what every command takes. Only the `top` parser has defaults: a subcommand's would undo what came first."""
    none, false = (None, False) if top else (argparse.SUPPRESS, argparse.SUPPRESS)
    group = parser.add_argument_group("everywhere")
    group.add_argument("--config", metavar="FILE", type=Path, default=none, help="the configuration to use")
    group.add_argument("--state", metavar="FOLDER", type=Path, default=none, help="the state folder to look at")
    group.add_argument("--json", action="store_true", default=false, help="print JSON, for programs")
    group.add_argument("--plain", action="store_true", default=false, help="print text without colours and boxes")


def refuse(message: str) -> NoReturn:
    """End a command that can't do what it was asked to; the message says why, and what to do.

    Raises:
        StoreError: always.
    """
    raise StoreError(message)
