"""Keeps an open descriptor on every journal file that ever appears, so that deleted ones can still be read."""

import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

TAIL_BYTES = 256 * 1024


class JournalWatch:
    """Watches a folder from a thread of its own. No hard links: a relay looks at the link count of its file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handles: dict[str, int] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.004):
            self._look()

    def _look(self) -> None:
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path.name not in self._handles:
                    with suppress(OSError):
                        self._handles[path.name] = os.open(path, os.O_RDONLY)

    def stop(self) -> None:
        self._done.set()
        self._thread.join()
        self._look()

    def pid_of_relays(self) -> dict[str, int]:
        """Relay id -> process id, by the file names."""
        parts = (name.split("-", 2) for name in self._handles)
        return {rest.split(".")[0]: int(pid) for _, pid, rest in parts}

    def calls(self) -> list[tuple[str, int, int]]:
        """Relay, seq, and the number in the arguments of each whole call line ever written, in the order of writing."""
        found = []
        for handle in tuple(self._handles.values()):
            *whole, _torn = os.pread(handle, os.fstat(handle).st_size, 0).split(b"\n")
            bodies: list[dict[str, Any]] = [json.loads(line) for line in whole]
            found += [(b["relay"], b["seq"], b["arguments"]["number"]) for b in bodies if b["t"] == "call"]
        return found

    def has(self, number: int) -> bool:
        """Whether the line of this call has been written as a whole."""
        wanted = b'"number":%d,' % number
        for handle in reversed(tuple(self._handles.values())):
            data = os.pread(handle, TAIL_BYTES, max(0, os.fstat(handle).st_size - TAIL_BYTES))
            if wanted in data[: data.rfind(b"\n") + 1]:
                return True
        return False
