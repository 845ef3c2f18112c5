"""The command `mcp-rearview`: finds the subcommand and turns our own errors into one line and an exit code."""

import os
import sys
from collections.abc import Sequence

from rearview.errors import RearviewError

FAILED = 2
INTERRUPTED = 130
VALUES = ("--config", "--state", "--name")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code is the result. `wrap` goes a way of its own that imports next to nothing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        at = _position_of_command(arguments)
        if arguments[at : at + 1] == ["wrap"]:
            from rearview.cli import wrap

            return wrap.main([*arguments[:at], *arguments[at + 1 :]])
        from rearview.cli import parser

        code = parser.run(arguments)
        sys.stdout.flush()
    except RearviewError as error:
        print(f"mcp-rearview: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # The reader of our output (`| head`) has seen enough. Python flushes once more at its end; let it find a sink.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _position_of_command(arguments: Sequence[str]) -> int:
    """Return where the first word stands that is no option and no value of one; argparse would cost `wrap` too much."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in VALUES else 1
    return at


if __name__ == "__main__":
    sys.exit(main())
