"""The command `mcp-rearview`: finds the subcommand and turns our own errors into one line and an exit code."""

import os
import sys
from collections.abc import Sequence

from rearview.errors import RearviewError

FAILED = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit code is the result. `wrap` goes a way of its own that imports next to nothing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["wrap"]:
            from rearview.cli import wrap

            return wrap.main(arguments[1:])
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


if __name__ == "__main__":
    sys.exit(main())
