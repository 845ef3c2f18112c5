"""The servers that run behind an HTTP front: started, watched, and ended with all that they started."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence

from rearview.transports.async_loop import AsyncLoop
from rearview.transports.child import Child, start
from rearview.transports.ending import GIVE_UP_AFTER_SECONDS, LEFTOVER_SECONDS, Ending
from rearview.transports.judge import Report
from rearview.transports.outbox import Outbox
from rearview.transports.server import Server

STDERR_BACKLOG_BYTES = 2**20
"""A child whose standard error waits behind so much of ours is not read there until that has drained."""

OnLines = Callable[[list[bytes]], None]
OnGone = Callable[[int, str], None]


class Running:
    """One child. `on_lines` gets what it writes; `on_gone`, how it ended and its last words, if nobody ended it."""

    def __init__(self, children: "Children", child: Child, on_lines: OnLines, on_gone: OnGone) -> None:
        self._children = children
        self._on_lines = on_lines
        self._on_gone = on_gone
        self._ending: Ending | None = None
        self._over = False
        self.server = Server(children.loop, child, self._wrote, self._complained, self._drained)

    @property
    def waiting_bytes(self) -> int:
        """How much of what was sent it has not taken yet."""
        return self.server.input.size

    def send(self, line: bytes) -> None:
        """Write to its standard input, now or when it reads."""
        self.server.input.send(line)

    def pause(self, paused: bool) -> None:
        """Leave its output alone, or read on."""
        if self._over:
            return
        if paused:
            self.server.pause_output()
        else:
            self.server.read_on()

    def end(self) -> None:
        """End it, gently and then not; nothing of it is heard any more."""
        if self._ending is None and not self._over:
            self._ending = Ending(self._children.loop, self.server.child, self.server.close_input, self._finish)
            if self.server.input.size == 0:
                self.server.close_input()
            self._ending.look()

    def look(self) -> None:
        """See whether it has ended."""
        if self._ending is not None:
            self._ending.look()
        elif not self._over and self.server.child.has_exited():
            self._over = True
            self.server.drain()
            self.server.child.end_group()
            self.server.detach()
            self._children.loop.after(LEFTOVER_SECONDS, self._leave)
            self._on_gone(self.server.child.exit_code or 0, self.server.tail.text())

    def _wrote(self, lines: list[bytes]) -> None:
        if self._ending is None:
            self._on_lines(lines)

    def _complained(self, data: bytes) -> None:
        self._children.errors.send(data)
        if self._children.errors.size > STDERR_BACKLOG_BYTES:
            self.server.pause_errors()

    def _drained(self) -> None:
        if self._ending is not None:
            self.server.close_input()

    def _finish(self) -> None:
        self._over = True
        self.server.detach()
        self._children.left(self)

    def _leave(self) -> None:
        self.server.child.kill_group()
        self._children.left(self)


class Children:
    """All children of one command. Needs the running event loop, and its main thread for the signal of their ends."""

    def __init__(self, command: Sequence[str], report: Report) -> None:
        self.command = command
        self.report = report
        self.loop = AsyncLoop()
        self.errors = Outbox(self.loop, 2, shared=True)
        self.errors.on_drained = self._read_errors_on
        self._running: set[Running] = set()
        self._none_left = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self.look)

    def __len__(self) -> int:
        return len(self._running)

    def start(self, on_lines: OnLines, on_gone: OnGone, child: Child | None = None) -> Running:
        """Start one more, or take in a `child` that has been started.

        Raises:
            CommandError: the command can't be started.
        """
        running = Running(self, child or start(self.command, os.environ), on_lines, on_gone)
        self._running.add(running)
        return running

    def look(self) -> None:
        """See which of them have ended."""
        for running in list(self._running):
            running.look()

    def left(self, running: Running) -> None:
        """One of them and all that it started is gone."""
        self._running.discard(running)
        if not self._running:
            self._none_left.set()

    async def end(self) -> None:
        """End all of them and wait for it, as long as that may take."""
        for running in list(self._running):
            running.end()
        self._none_left.clear()
        if self._running:
            try:
                await asyncio.wait_for(self._none_left.wait(), GIVE_UP_AFTER_SECONDS + LEFTOVER_SECONDS)
            except TimeoutError:
                self.report("server.not_ended", {"command": self.command[0]})

    def _read_errors_on(self) -> None:
        for running in self._running:
            running.pause(False)
