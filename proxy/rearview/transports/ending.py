"""Ends a child and all that it started, within two seconds."""

import signal
from collections.abc import Callable

from rearview.transports.child import Child
from rearview.transports.loop import Waiter

TERM_AFTER_SECONDS = 0.9
KILL_AFTER_SECONDS = 1.3
GIVE_UP_AFTER_SECONDS = 1.7
LOOK_SECONDS = 0.02
LEFTOVER_SECONDS = 0.3


class Ending:
    """Waits for the process itself, not for its pipes, which a grandchild may keep open.

    The owner closes its standard input first, as soon as what was on its way has been written; `close_input` is called
    when it is too late for that. Then come TERM and KILL for the whole group. `finished` is called once.
    """

    def __init__(
        self, loop: Waiter, child: Child, close_input: Callable[[], None], finished: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._child = child
        self._close_input = close_input
        self._finished = finished
        self._done = False
        self._leader_gone = False
        loop.after(TERM_AFTER_SECONDS, self._term)
        loop.after(KILL_AFTER_SECONDS, self.now)
        loop.after(GIVE_UP_AFTER_SECONDS, self._finish)

    def look(self) -> None:
        """See whether the process has ended; then its leftovers are ended too."""
        if self._done or not self._child.has_exited():
            return
        if not self._child.signal_group(0):
            self._finish()
        elif not self._leader_gone:
            self._leader_gone = True
            self._child.signal_group(signal.SIGTERM)
            self._loop.after(LEFTOVER_SECONDS, self.now)
            self._look_again()

    def now(self) -> None:
        """Kill what is left."""
        if not self._done:
            self._child.signal_group(signal.SIGKILL)
            self._look_again()

    def _term(self) -> None:
        if not self._done:
            self._close_input()
            self._child.signal_group(signal.SIGTERM)

    def _look_again(self) -> None:
        if self._done:
            return
        if self._child.group_is_gone():
            self._finish()
        else:
            self._loop.after(LOOK_SECONDS, self._look_again)

    def _finish(self) -> None:
        if not self._done:
            self._done = True
            self._finished()
