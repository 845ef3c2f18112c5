"""The stdio relay: moves lines between our own standard streams and a child, and asks the session about each."""

import os
import signal
import stat
import time
from collections import deque
from collections.abc import Sequence

from rearview.core.actions import Answer, FromClient, FromServer, Noise, ToServer
from rearview.core.framing import LineSplitter
from rearview.core.session import Session
from rearview.transports.child import Child, CommandError
from rearview.transports.ending import LEFTOVER_SECONDS, Ending
from rearview.transports.judge import Judge, Report
from rearview.transports.loop import HEARTBEAT_MS, Loop, Signals
from rearview.transports.outbox import Outbox
from rearview.transports.restarts import Restarts
from rearview.transports.server import READ_BYTES, Server

BACKLOG_BYTES = 2**20
"""A direction whose receiver has this much waiting is not read until it has drained."""

RESUME_SECONDS = 10.0
LAST_WORDS_SECONDS = 0.3
WAKE_SECONDS = 0.05
"""After the first answer of the server the session loads the rest of itself, unless a call came first."""
SETTLE_MS = 50.0
"""When nothing has come for so long after an answer, what was kept back is settled."""
FILE_INPUT_SECONDS = 60.0
"""How long a regular file as standard input, which ends at once, waits for the answers to its calls."""

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PASSED_SIGNALS = (signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)


class StdioRelay:
    """Relays between descriptors 0, 1, 2 and a child that it starts, restarts, and ends.

    `run` returns the exit code for our own process: the child's.
    """

    def __init__(self, command: Sequence[str], session: Session, report: Report) -> None:
        self._command = command
        self._session = session
        self._report = report
        self._judge = Judge(session, report, self._act)
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
        self._restarts = Restarts(command)
        self._server: Server | None = None
        self._last_words = ""
        self._exit_code = 0
        self._ending: Ending | None = None
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
        self._server = Server(self._loop, child, self._from_server, self._from_stderr, self._server_drained)

    # client -> server

    def _client_readable(self) -> None:
        try:
            # `take`, without the call: this happens for every message.
            data: bytes | None = os.read(0, READ_BYTES)
        except OSError as error:
            data = None if isinstance(error, BlockingIOError) else b""
        if not data:
            if data is not None:
                self._client_ended()
            return
        through = self._judge.of_client(self._client_lines.receive(data))
        server = self._server
        if server is None or self._waiting or self._session.resuming:
            if through:
                self._forward(through)
        else:
            server.input.send(through)
            if server.input.size <= BACKLOG_BYTES and self._to_client.size <= BACKLOG_BYTES:
                return
        if self._waiting or self._is_crowded() or self._to_client.size > BACKLOG_BYTES:
            self._loop.on_readable(0, None)

    def _act(self, action: FromClient | FromServer, line: bytes) -> None:
        """Do what the session asks for in place of passing a line on."""
        if isinstance(action, Answer):
            self._to_client.send(action.line)
        elif isinstance(action, Noise):
            self._to_stderr.send(line)
        elif isinstance(action, ToServer) and self._server is not None:
            self._server.input.send(action.line)

    def _is_crowded(self) -> bool:
        return self._server is not None and self._server.input.size > BACKLOG_BYTES

    def _forward(self, data: bytes) -> None:
        if self._server is None and not self._restart():
            return
        if self._session.resuming:
            self._waiting.append(data)
        elif self._server is not None:
            self._server.input.send(data)

    def _client_ended(self) -> None:
        self._loop.on_readable(0, None)
        self._client_open = False
        rest = self._client_lines.rest()
        if self._server is not None:
            self._server.input.send(rest)
        if self._server is not None and self._session.waiting and _is_file(0):
            self._loop.after(FILE_INPUT_SECONDS, self._end)
        else:
            self._end()

    def _read_on(self) -> None:
        """Read again what was paused, as far as its receivers have drained."""
        if self._client_open and not self._waiting and not self._is_crowded():
            self._loop.on_readable(0, self._client_readable)
        if self._server is not None:
            self._server.read_on()

    def _server_drained(self) -> None:
        if self._ending is not None and self._server is not None:
            self._server.close_input()
        else:
            self._read_on()

    # server -> client

    def _from_server(self, lines: list[bytes]) -> None:
        through = self._judge.of_server(lines)
        if through:
            self._to_client.send(through)
            if self._to_client.size > BACKLOG_BYTES and self._server is not None:
                self._server.pause_output()
        if self._session.later:
            self._judge.catch_up()
        self._loop.nap_ms = SETTLE_MS
        if not self._woken or self._waiting or not self._client_open:
            self._seldom()

    def _seldom(self) -> None:
        """What follows the first answer of a server, the end of a handshake, and the last answer."""
        if not self._woken:
            self._woken = True
            self._loop.after(WAKE_SECONDS, self._judge.wake)
        if self._waiting and not self._session.resuming:
            self._resumed()
        if not self._client_open and self._ending is None and not self._session.waiting:
            self._end()

    def _from_stderr(self, data: bytes) -> None:
        self._to_stderr.send(data)
        if self._to_stderr.size > BACKLOG_BYTES and self._server is not None:
            self._server.pause_errors()

    # the server's life

    def _signalled(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._look_at_child()
            return
        if self._server is not None:
            self._server.child.signal_group(number)
        if number in ENDING_SIGNALS:
            if self._ending is not None:
                self._ending.now()
            self._end()

    def _look_at_child(self) -> None:
        if self._ending is not None:
            self._ending.look()
        elif self._server is not None and self._server.child.has_exited():
            self._server_ended(self._server)

    def _server_ended(self, server: Server) -> None:
        """The server ended by itself: answer what is in flight, and be ready for the next line."""
        server.drain()
        server.child.end_group()
        self._loop.after(LEFTOVER_SECONDS, server.child.kill_group)
        server.detach()
        self._server = None
        self._waiting.clear()
        self._exit_code = server.child.exit_code or 0
        self._last_words = server.tail.text()
        self._answer_lost()
        self._report("server.ended", {"exit_code": self._exit_code, "command": self._command[0]})
        if not self._client_open:
            self._end()

    def _answer_lost(self) -> None:
        for line in self._session.server_gone(self._exit_code, self._last_words, time.monotonic()):
            self._to_client.send(line)

    def _restart(self) -> bool:
        """Start the server again for a line of the client; answer what waits if that is not to be."""
        try:
            self._adopt(self._restarts.start_again(self._exit_code))
        except CommandError as error:
            self._report("server.not_restarted", {"reason": str(error)})
            self._answer_lost()
            return False
        if self._server is not None:
            for line in self._session.resume():
                self._server.input.send(line)
                self._loop.after(RESUME_SECONDS, self._give_up_resuming)
        return True

    def _give_up_resuming(self) -> None:
        self._session.give_up_resuming()
        self._resumed()

    def _resumed(self) -> None:
        while self._waiting and self._server is not None:
            self._server.input.send(self._waiting.popleft())
        self._read_on()

    # the end

    def _heartbeat(self) -> None:
        """Settle what waits, notice a parent that went without closing the pipe and a child that ended unheard."""
        self._judge.settle()
        self._loop.nap_ms = HEARTBEAT_MS
        self._look_at_child()
        if os.getppid() != self._parent:
            self._end()

    def _end(self) -> None:
        if self._ending is not None:
            return
        self._loop.on_readable(0, None)
        self._client_open = False
        server = self._server
        if server is None:
            self._finish()
            return
        self._ending = Ending(self._loop, server.child, server.close_input, self._finish)
        if server.input.size == 0:
            server.close_input()
        self._ending.look()

    def _finish(self) -> None:
        """The process group is gone: pass on what it left, and stop."""
        server = self._server
        if server is not None:
            server.drain()
            self._to_client.send(server.lines.rest())
            self._exit_code = self._exit_code if server.child.exit_code is None else server.child.exit_code
            server.detach()
            self._server = None
        if self._to_client.size == 0:
            self._loop.stop()
        else:
            self._to_client.on_drained = self._loop.stop
            self._to_client.on_broken = self._loop.stop
            self._loop.after(LAST_WORDS_SECONDS, self._loop.stop)


def _is_file(fd: int) -> bool:
    return stat.S_ISREG(os.fstat(fd).st_mode)
