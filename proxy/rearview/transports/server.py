"""One running server: its process, its pipes, and what is on its way to it."""

import os
from collections.abc import Callable

from rearview.core.framing import LineSplitter
from rearview.transports.child import Child
from rearview.transports.loop import Waiter
from rearview.transports.outbox import Outbox
from rearview.transports.tail import Tail

READ_BYTES = 64 * 2**10
"""Not more: malloc maps and unmaps larger blocks at each read, which costs more than the read."""

DEAF_SECONDS = 0.5
"""How long a server that closed one of its pipes may go on before it is ended, gently and then not."""


class Server:
    """Reads the pipes of one child and hands on what it wrote.

    `on_output` gets whole lines of its standard output, `on_errors` what it wrote to standard error as it came.
    `on_drained` is called when what was sent has been taken.
    """

    def __init__(
        self,
        loop: Waiter,
        child: Child,
        on_output: Callable[[list[bytes]], None],
        on_errors: Callable[[bytes], None],
        on_drained: Callable[[], None],
    ) -> None:
        self.child = child
        self.lines = LineSplitter()
        self.tail = Tail()
        self.input = Outbox(loop, child.stdin)
        self.input.on_broken = self._is_deaf
        self.input.on_drained = on_drained
        self._loop = loop
        self._on_output = on_output
        self._on_errors = on_errors
        os.set_blocking(child.stdout, False)
        os.set_blocking(child.stderr, False)
        self.read_on()

    def read_on(self) -> None:
        """Read both outputs, again if they were paused."""
        if self.child.stdout >= 0:
            self._loop.on_readable(self.child.stdout, self._output_is_readable)
        if self.child.stderr >= 0:
            self._loop.on_readable(self.child.stderr, self._errors_are_readable)

    def pause_output(self) -> None:
        """Leave standard output alone until `read_on`."""
        if self.child.stdout >= 0:
            self._loop.on_readable(self.child.stdout, None)

    def pause_errors(self) -> None:
        """Leave standard error alone until `read_on`."""
        if self.child.stderr >= 0:
            self._loop.on_readable(self.child.stderr, None)

    def drain(self) -> None:
        """Read what the ended child left; a grandchild may hold the pipes open, so not until their end."""
        while self.child.stdout >= 0 and (data := take(self.child.stdout)):
            self._on_output(self.lines.receive(data))
        while self.child.stderr >= 0 and (data := take(self.child.stderr)):
            self._wrote_errors(data)

    def close_input(self) -> None:
        """Tell the child that nothing more will come, and forget what it has not taken."""
        self.input.drop()
        self.child.close_stdin()

    def detach(self) -> None:
        """Let go of the pipes; the process is somebody else's business from now on."""
        self.pause_output()
        self.pause_errors()
        self.input.drop()
        self.child.close()

    def _output_is_readable(self) -> None:
        try:
            # `take`, without the call: this happens for every message.
            data: bytes | None = os.read(self.child.stdout, READ_BYTES)
        except OSError as error:
            data = None if isinstance(error, BlockingIOError) else b""
        if data:
            self._on_output(self.lines.receive(data))
        elif data is not None:
            self.pause_output()
            os.close(self.child.stdout)
            self.child.stdout = -1
            self._is_deaf()

    def _errors_are_readable(self) -> None:
        data = take(self.child.stderr)
        if data:
            self._wrote_errors(data)
        elif data is not None:
            self.pause_errors()
            os.close(self.child.stderr)
            self.child.stderr = -1

    def _wrote_errors(self, data: bytes) -> None:
        self.tail.add(data)
        self._on_errors(data)

    def _is_deaf(self) -> None:
        """A server that closed a pipe can't take or answer calls, whether it goes on or not: end it."""
        self._loop.after(DEAF_SECONDS, self.child.end_group)
        self._loop.after(2 * DEAF_SECONDS, self.child.kill_group)


def take(fd: int) -> bytes | None:
    """Return what can be read now; `None` if that is nothing, empty at the end or when the descriptor is broken."""
    try:
        return os.read(fd, READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""
