"""A small poll loop: descriptors, signals, timers.

Not asyncio: importing it costs the relay more time and memory than all else together (docs/architecture.md), and
`poll` takes regular files, which `epoll` refuses.
"""

import heapq
import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from itertools import count
from typing import Protocol

READABLE = select.POLLIN
WRITABLE = select.POLLOUT
READ_EVENTS = select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL
WRITE_EVENTS = select.POLLOUT | select.POLLHUP | select.POLLERR

HEARTBEAT_MS = 400.0
TURNS_PER_HEARTBEAT = 256
"""A busy loop never times out; a turn takes some 20 us, and a heart may beat faster than it has to."""

Callback = Callable[[], None]


class Waiter(Protocol):
    """What the pipes of a child need of a loop, whichever it is. A callback must not block."""

    def on_readable(self, fd: int, callback: Callback | None) -> None:
        """Call `callback` whenever `fd` has bytes, has ended or is broken; `None` stops that."""
        ...

    def on_writable(self, fd: int, callback: Callback | None) -> None:
        """Call `callback` whenever `fd` takes bytes or is broken; `None` stops that."""
        ...

    def after(self, seconds: float, callback: Callback) -> None:
        """Call `callback` once, `seconds` from now."""
        ...


class Loop:
    """Runs callbacks of one thread until `stop`. A callback must not block.

    `heartbeat` is called about every `HEARTBEAT_MS`, sooner when nothing else happens: when that has been so for
    `nap_ms`, which callbacks may set. In the usual state there is
    no timer, and one turn is one system call and one callback.
    """

    def __init__(self, heartbeat: Callback) -> None:
        self._poll = select.poll()
        self._readers: dict[int, Callback] = {}
        self._writers: dict[int, Callback] = {}
        self._timers: list[tuple[float, int, Callback]] = []
        self._order = count()
        self._heartbeat = heartbeat
        self._running = False
        self.nap_ms = HEARTBEAT_MS

    def on_readable(self, fd: int, callback: Callback | None) -> None:
        """Call `callback` whenever `fd` has bytes, has ended or is broken; `None` stops that."""
        self._set(self._readers, fd, callback)

    def on_writable(self, fd: int, callback: Callback | None) -> None:
        """Call `callback` whenever `fd` takes bytes or is broken; `None` stops that."""
        self._set(self._writers, fd, callback)

    def _set(self, callbacks: dict[int, Callback], fd: int, callback: Callback | None) -> None:
        if callback is None:
            if callbacks.pop(fd, None) is None:
                return
        else:
            callbacks[fd] = callback
        mask = (READABLE if fd in self._readers else 0) | (WRITABLE if fd in self._writers else 0)
        if mask:
            self._poll.register(fd, mask)
        else:
            # A registered descriptor without a mask still reports that its peer hung up, for ever.
            self._poll.unregister(fd)

    def after(self, seconds: float, callback: Callback) -> None:
        """Call `callback` once, `seconds` from now."""
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), callback))

    def stop(self) -> None:
        """Return from `run` when the current callback is over."""
        self._running = False

    def run(self) -> None:
        """Run until `stop`."""
        self._running = True
        readers, writers, poll = self._readers, self._writers, self._poll.poll
        turns = 0
        while self._running:
            events = poll(self._timeout_ms() if self._timers else self.nap_ms)
            for fd, event in events:
                if event & READ_EVENTS and fd in readers:
                    readers[fd]()
                if event & WRITE_EVENTS and fd in writers:
                    writers[fd]()
            if self._timers:
                self._run_timers()
            turns += 1
            if not events or turns > TURNS_PER_HEARTBEAT:
                turns = 0
                self._heartbeat()

    def _timeout_ms(self) -> float:
        return min(self.nap_ms, max(0.0, self._timers[0][0] - time.monotonic()) * 1000)

    def _run_timers(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()


class Signals:
    """Turns signals into callbacks of a loop."""

    def __init__(self, loop: Loop, signals: Iterable[signal.Signals], callback: Callable[[int], None]) -> None:
        self._callback = callback
        self._read_fd, write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        os.set_blocking(write_fd, False)
        signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
        for number in signals:
            signal.signal(number, _noted)
        loop.on_readable(self._read_fd, self._arrived)

    def _arrived(self) -> None:
        for number in os.read(self._read_fd, 4096):
            self._callback(number)


def _noted(_number: int, _frame: object) -> None:
    """Do nothing: the number has already gone into the wake-up pipe."""
