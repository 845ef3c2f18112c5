"""The stdio relay: moves lines between our own standard streams and a child, and asks the session about each."""

import os
import signal
import stat
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from rearview.core.actions import NOISE, PASS, Answer, Replace, ToServer
from rearview.core.framing import LineSplitter, LineTooLong
from rearview.core.session import Session
from rearview.transports.child import Child, CommandError, start
from rearview.transports.ending import LEFTOVER_SECONDS, Ending
from rearview.transports.loop import Loop, Signals
from rearview.transports.outbox import Outbox
from rearview.transports.tail import Tail

READ_BYTES = 64 * 2**10
"""Not more: malloc maps and unmaps larger blocks at each read, which costs more than the read."""

BACKLOG_BYTES = 2**20
"""A direction whose receiver has this much waiting is not read until it has drained."""

RESUME_SECONDS = 10.0
RESPAWNS = 3
RESPAWN_WINDOW_SECONDS = 60
DEAF_SECONDS = 0.5
WAKE_SECONDS = 0.05
"""After the first answer of the server the session loads the rest of itself, unless a call came first."""
FILE_INPUT_SECONDS = 60.0
"""How long a regular file as standard input, which ends at once, waits for the answers to its calls."""

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PASSED_SIGNALS = (signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)

Report = Callable[[str, Mapping[str, object]], None]


class StdioRelay:
    """Relays between descriptors 0, 1, 2 and a child that it starts, restarts, and ends.

    `run` returns the exit code for our own process: the child's.
    """

    def __init__(self, command: Sequence[str], session: Session, report: Report) -> None:
        self._command = command
        self._session = session
        self._report = report
        self._loop = Loop(self._heartbeat)
        self._signals = Signals(self._loop, (signal.SIGCHLD, *ENDING_SIGNALS, *PASSED_SIGNALS), self._signalled)
        self._parent = os.getppid()
        self._to_client = Outbox(self._loop, 1)
        self._to_client.on_broken = self._end
        self._to_client.on_drained = self._read_on
        self._to_stderr = Outbox(self._loop, 2, shared=True)
        self._to_stderr.on_drained = self._read_on
        self._client_lines = LineSplitter()
        self._client_open = True
        self._waiting: deque[bytes] = deque()
        self._restarts: deque[float] = deque()
        self._ending: Ending | None = None
        self._child: Child | None = None
        self._exit_code = 0
        self._woken = False

    def run(self, child: Child) -> int:
        """Relay until the client is gone and the child has ended."""
        try:
            self._adopt(child)
            self._loop.on_readable(0, self._client_readable)
            self._loop.run()
        finally:
            self._session.close(time.monotonic())
            # Others may share the description behind our standard output.
            os.set_blocking(1, True)
        return self._exit_code

    def _adopt(self, child: Child) -> None:
        self._child = child
        self._server_lines = LineSplitter()
        self._tail = Tail()
        self._to_server = Outbox(self._loop, child.stdin)
        self._to_server.on_broken = self._stop_deaf
        self._to_server.on_drained = self._server_drained
        os.set_blocking(child.stdout, False)
        os.set_blocking(child.stderr, False)
        self._loop.on_readable(child.stdout, self._server_readable)
        self._loop.on_readable(child.stderr, self._stderr_readable)

    def _wake(self) -> None:
        self._session.wake()

    # client -> server

    def _client_readable(self) -> None:
        data = _take(0)
        if data is None:
            return
        if not data:
            self._client_ended()
            return
        now = time.monotonic()
        through = []
        for line in self._lines(self._client_lines, data):
            action = self._session.from_client(line, now)
            if action is PASS:
                through.append(line)
            elif isinstance(action, Answer):
                self._to_client.send(action.line)
        if through:
            self._forward(through[0] if len(through) == 1 else b"".join(through))
        if self._waiting or self._to_server.size > BACKLOG_BYTES or self._to_client.size > BACKLOG_BYTES:
            self._loop.on_readable(0, None)

    def _lines(self, splitter: LineSplitter, data: bytes) -> list[bytes]:
        try:
            return splitter.receive(data)
        except LineTooLong:
            # Nobody's message is that long; the bytes go on, in pieces that the session can't read.
            self._report("relay.line_too_long", {"limit": splitter.limit})
            return [splitter.rest()]

    def _forward(self, data: bytes) -> None:
        if self._child is None and not self._restart():
            return
        if self._session.resuming:
            self._waiting.append(data)
        else:
            self._to_server.send(data)

    def _client_ended(self) -> None:
        self._loop.on_readable(0, None)
        self._client_open = False
        rest = self._client_lines.rest()
        if rest and self._child is not None:
            self._to_server.send(rest)
        if stat.S_ISREG(os.fstat(0).st_mode) and self._session.waiting and self._child is not None:
            self._loop.after(FILE_INPUT_SECONDS, self._end)
        else:
            self._end()

    def _read_on(self) -> None:
        """Read again what was paused, as far as its receivers have drained."""
        if self._client_open and not self._waiting and self._to_server.size <= BACKLOG_BYTES:
            self._loop.on_readable(0, self._client_readable)
        if self._child is not None and self._child.stdout >= 0:
            self._loop.on_readable(self._child.stdout, self._server_readable)
        if self._child is not None and self._child.stderr >= 0:
            self._loop.on_readable(self._child.stderr, self._stderr_readable)

    def _server_drained(self) -> None:
        if self._ending is not None:
            self._close_server_input()
        else:
            self._read_on()

    # server -> client

    def _server_readable(self) -> None:
        child = self._child
        if child is None:
            return
        data = _take(child.stdout)
        if data:
            self._from_server(data)
            if self._to_client.size > BACKLOG_BYTES:
                self._loop.on_readable(child.stdout, None)
        elif data is not None:
            self._loop.on_readable(child.stdout, None)
            os.close(child.stdout)
            child.stdout = -1
            self._stop_deaf()

    def _from_server(self, data: bytes) -> None:
        now = time.monotonic()
        through = []
        for line in self._lines(self._server_lines, data):
            action = self._session.from_server(line, now)
            if action is PASS:
                through.append(line)
            elif isinstance(action, Replace):
                through.append(action.line)
            elif action is NOISE:
                self._to_stderr.send(line)
            elif isinstance(action, ToServer):
                self._to_server.send(action.line)
        if through:
            self._to_client.send(through[0] if len(through) == 1 else b"".join(through))
            self._session.catch_up(now)
        if not self._woken:
            self._woken = True
            self._loop.after(WAKE_SECONDS, self._wake)
        if self._waiting and not self._session.resuming:
            self._resumed()
        if not self._client_open and self._ending is None and not self._session.waiting:
            self._end()

    def _stderr_readable(self) -> None:
        child = self._child
        if child is None:
            return
        data = _take(child.stderr)
        if data:
            self._tail.add(data)
            self._to_stderr.send(data)
            if self._to_stderr.size > BACKLOG_BYTES:
                self._loop.on_readable(child.stderr, None)
        elif data is not None:
            self._loop.on_readable(child.stderr, None)
            os.close(child.stderr)
            child.stderr = -1

    # the child's life

    def _signalled(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._look_at_child()
            return
        if self._child is not None:
            self._child.signal_group(number)
        if number in ENDING_SIGNALS:
            if self._ending is not None:
                self._ending.now()
            self._end()

    def _look_at_child(self) -> None:
        if self._ending is not None:
            self._ending.look()
        elif self._child is not None and self._child.has_exited():
            self._server_ended(self._child)

    def _server_ended(self, child: Child) -> None:
        """The server ended by itself: answer what is in flight, and be ready for the next line."""
        self._drain(child)
        child.signal_group(signal.SIGTERM)
        self._loop.after(LEFTOVER_SECONDS, child.kill_group)
        self._detach(child)
        self._exit_code = child.exit_code or 0
        self._answer_lost()
        self._report("server.ended", {"exit_code": self._exit_code, "command": self._command[0]})
        if not self._client_open:
            self._end()

    def _answer_lost(self) -> None:
        for line in self._session.server_gone(self._exit_code, self._tail.text(), time.monotonic()):
            self._to_client.send(line)

    def _drain(self, child: Child) -> None:
        """Read what the ended child left in its pipes; a grandchild may hold them open, so not until their end."""
        while child.stdout >= 0 and (data := _take(child.stdout)):
            self._from_server(data)
        while child.stderr >= 0 and (data := _take(child.stderr)):
            self._tail.add(data)
            self._to_stderr.send(data)

    def _stop_deaf(self) -> None:
        """End a server that closed one of its pipes: it can't take or answer calls, whether it goes on or not."""
        child = self._child
        if child is not None and self._ending is None:
            self._loop.after(DEAF_SECONDS, child.end_group)
            self._loop.after(2 * DEAF_SECONDS, child.kill_group)

    def _detach(self, child: Child) -> None:
        for fd in (child.stdout, child.stderr):
            if fd >= 0:
                self._loop.on_readable(fd, None)
        self._to_server.drop()
        self._waiting.clear()
        child.close()
        self._child = None

    def _restart(self) -> bool:
        """Start the server again for a line of the client; answer what waits if that is not to be."""
        now = time.monotonic()
        while self._restarts and now - self._restarts[0] > RESPAWN_WINDOW_SECONDS:
            self._restarts.popleft()
        if len(self._restarts) >= RESPAWNS:
            self._report("server.not_restarted", {"restarts": len(self._restarts), "within_s": RESPAWN_WINDOW_SECONDS})
            self._answer_lost()
            return False
        self._restarts.append(now)
        try:
            self._adopt(start(self._command, os.environ))
        except CommandError as error:
            self._report("server.not_restarted", {"error": str(error)})
            self._answer_lost()
            return False
        for line in self._session.resume():
            self._to_server.send(line)
            self._loop.after(RESUME_SECONDS, self._give_up_resuming)
        return True

    def _give_up_resuming(self) -> None:
        self._session.give_up_resuming()
        self._resumed()

    def _resumed(self) -> None:
        while self._waiting:
            self._to_server.send(self._waiting.popleft())
        self._read_on()

    # the end

    def _heartbeat(self) -> None:
        """Notice a parent that went without closing the pipe, and a child that ended before we listened for it."""
        self._look_at_child()
        if os.getppid() != self._parent:
            self._end()

    def _end(self) -> None:
        if self._ending is not None:
            return
        self._loop.on_readable(0, None)
        self._client_open = False
        child = self._child
        if child is None:
            self._finish()
            return
        self._ending = Ending(self._loop, child, self._close_server_input, self._finish)
        if self._to_server.size == 0:
            self._close_server_input()
        self._ending.look()

    def _close_server_input(self) -> None:
        self._to_server.drop()
        if self._child is not None:
            self._child.close_stdin()

    def _finish(self) -> None:
        """The process group is gone: pass on what it left, and stop."""
        child = self._child
        if child is not None:
            self._drain(child)
            self._to_client.send(self._server_lines.rest())
            self._exit_code = child.exit_code if child.exit_code is not None else self._exit_code
            self._detach(child)
        if self._to_client.size == 0:
            self._loop.stop()
        else:
            self._to_client.on_drained = self._loop.stop
            self._to_client.on_broken = self._loop.stop
            self._loop.after(0.3, self._loop.stop)


def _take(fd: int) -> bytes | None:
    """Return what can be read now; `None` if that is nothing, empty at the end or when the descriptor is broken."""
    try:
        return os.read(fd, READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""
