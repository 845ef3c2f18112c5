"""The yardstick: one thread, `poll`, every message parsed with orjson, the raw lines forwarded. Nothing else."""

import os
import select
import subprocess
import sys

import orjson


def main() -> int:
    """Relay between standard input and output and the command that is given."""
    with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin
        assert child.stdout
        poll = select.poll()
        ways = {0: child.stdin.fileno(), child.stdout.fileno(): 1}
        rest = dict.fromkeys(ways, b"")
        for source in ways:
            poll.register(source, select.POLLIN)
        while True:
            for source, _ in poll.poll():
                data = os.read(source, 65536)
                if not data and source == 0:
                    child.stdin.close()
                    poll.unregister(0)
                    continue
                if not data:
                    return child.wait()
                *lines, rest[source] = (rest[source] + data).split(b"\n")
                for line in lines:
                    orjson.loads(line)
                view = memoryview(b"".join(line + b"\n" for line in lines))
                while view:
                    view = view[os.write(ways[source], view) :]


if __name__ == "__main__":
    sys.exit(main())
