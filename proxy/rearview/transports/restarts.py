"""Starts a server that ended again, but not for ever."""

import os
import time
from collections import deque
from collections.abc import Sequence

from rearview.transports.child import Child, CommandError, start

RESTARTS = 3
WINDOW_SECONDS = 60


class Restarts:
    """Counts the restarts of one command."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._times: deque[float] = deque()

    def start_again(self, exit_code: int) -> Child:
        """Start the command; `exit_code` is how it ended before.

        Raises:
            CommandError: it can't be started, or it ended too often within a minute.
        """
        now = time.monotonic()
        while self._times and now - self._times[0] > WINDOW_SECONDS:
            self._times.popleft()
        if len(self._times) >= RESTARTS:
            message = f"it was started again {RESTARTS} times within {WINDOW_SECONDS} s and ended each time"
            raise CommandError(message, exit_code)
        self._times.append(now)
        return start(self._command, os.environ)
