"""Bytes on their way to a descriptor that may be slow."""

import os
from collections import deque
from collections.abc import Callable

from rearview.transports.loop import Waiter

PIPE_BUF_BYTES = 4096
"""A pipe that polls as writable takes this much without blocking (POSIX asks for 512, Linux has 4,096)."""


class Outbox:
    """Writes at once what fits and keeps the rest, in order.

    It has no bound of its own: who fills it looks at `size`, stops reading its source, and goes on when `on_drained` is
    called. `shared` says that the descriptor belongs to others too (standard error), so it must not be made
    non-blocking: then only as much is written as can't block. When the reader is gone, `on_broken` is called once and
    everything is dropped.
    """

    def __init__(self, loop: Waiter, fd: int, *, shared: bool = False) -> None:
        self.fd = fd
        self.size = 0
        self.broken = False
        self.on_drained: Callable[[], None] = _nothing
        self.on_broken: Callable[[], None] = _nothing
        self._loop = loop
        self._shared = shared
        self._waiting: deque[memoryview] = deque()
        if not shared:
            os.set_blocking(fd, False)

    def send(self, data: bytes) -> None:
        """Write `data`, now or later."""
        if self.broken or not data:
            return
        if self._waiting or self._shared:
            self._keep(memoryview(data))
            return
        try:
            written = os.write(self.fd, data)
        except OSError as error:
            written = self._not_written(error)
        if written < len(data) and not self.broken:
            self._keep(memoryview(data)[written:])

    def _keep(self, view: memoryview) -> None:
        if not self._waiting:
            self._loop.on_writable(self.fd, self._flush)
        self._waiting.append(view)
        self.size += len(view)

    def _flush(self) -> None:
        while self._waiting:
            view = self._waiting[0]
            part = view[:PIPE_BUF_BYTES] if self._shared else view
            written = self._write(part)
            if self.broken:
                return
            self.size -= written
            if written == len(view):
                self._waiting.popleft()
            else:
                self._waiting[0] = view[written:]
            if self._shared or written < len(part):
                break
        if not self._waiting:
            self._loop.on_writable(self.fd, None)
            self.on_drained()

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self.fd, data)
        except OSError as error:
            return self._not_written(error)

    def _not_written(self, error: OSError) -> int:
        if not isinstance(error, BlockingIOError):
            self.drop()
            self.on_broken()
        return 0

    def drop(self) -> None:
        """Forget what waits, and write nothing any more."""
        self.broken = True
        self.size = 0
        if self._waiting:
            self._waiting.clear()
            self._loop.on_writable(self.fd, None)


def _nothing() -> None:
    """Nobody listens."""
