"""What all commands share: the options that may stand before or behind a subcommand, and how help is laid out."""

import argparse
from pathlib import Path
from typing import Any, NoReturn

from rearview.errors import StoreError


class CommandParser(argparse.ArgumentParser):
    """Keeps the line breaks of our help texts and takes no abbreviated options, so that new ones break no script."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(**options)


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
