"""What a command works with: the configuration, the state folder, and where to print."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rearview.cli.render import Output
from rearview.config import Config, load
from rearview.store.state import state_root


class Context(NamedTuple):
    """Read once, before the command runs. `config_path` is what `--config` named."""

    config: Config
    config_path: Path | None
    root: Path
    output: Output


def read_context(options: argparse.Namespace, environ: Mapping[str, str]) -> Context:
    """Look at the shared options.

    Raises:
        ConfigError: the configuration can't be used.
    """
    # No project's file: it narrows what relays in that project do, and nothing that a command does.
    config = load(options.config, None, environ)
    root = options.state.expanduser().absolute() if options.state else state_root(environ)
    return Context(config, options.config, root, Output(options.json, options.plain))
