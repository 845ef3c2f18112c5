"""Stands between two parts, and writes down the bytes that pass: `tee.py FOLDER COMMAND ARG…`."""

import os
import subprocess
import sys
import threading
from pathlib import Path

READ_BYTES = 65536


def copy(source: int, target: int, log: Path) -> None:
    with log.open("ab", buffering=0) as file:
        while data := os.read(source, READ_BYTES):
            # Written down first, so that whoever has the answer finds the question in the file.
            file.write(data)
            while data:
                data = data[os.write(target, data) :]


def main() -> int:
    folder, *command = sys.argv[1:]
    Path(folder).mkdir(exist_ok=True)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as server:
        assert server.stdin
        assert server.stdout
        arguments = (server.stdout.fileno(), sys.stdout.fileno(), Path(folder) / "to_client.jsonl")
        answers = threading.Thread(target=copy, args=arguments)
        answers.start()
        copy(sys.stdin.fileno(), server.stdin.fileno(), Path(folder) / "to_server.jsonl")
        server.stdin.close()
        answers.join()
        return server.wait()


if __name__ == "__main__":
    sys.exit(main())
