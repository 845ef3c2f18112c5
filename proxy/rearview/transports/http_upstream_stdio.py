"""A client on our standard input and output, and an HTTP server: lines one way, messages the other."""

import asyncio
import os
import signal
import stat
import time
from typing import Any

from rearview.core.actions import Answer, FromClient, FromServer
from rearview.core.framing import LineSplitter
from rearview.core.session import Session
from rearview.errors import PeerError
from rearview.transports.async_loop import AsyncLoop
from rearview.transports.http_client import Origin
from rearview.transports.http_heads import Headers
from rearview.transports.http_upstream import Upstream
from rearview.transports.http_upstream_session import ServerSession
from rearview.transports.judge import Judge, Report
from rearview.transports.outbox import Outbox

READ_BYTES = 64 * 2**10
BACKLOG_BYTES = 2**20
"""A receiver that has this much waiting: its side is not read until it has drained."""

LAST_ANSWERS_SECONDS = 1.0
FILE_INPUT_SECONDS = 60.0
"""How long a regular file as standard input, which ends at once, waits for the answers to its calls."""
SIGNALLED_SECONDS = 0.4
GOODBYE_SECONDS = 0.5
LAST_WORDS_SECONDS = 0.3
HEARTBEAT_SECONDS = 0.4
WAKE_SECONDS = 0.05
LOOK_SECONDS = 0.02


class StdioToHttp:
    """Relays between descriptors 0 and 1 and an HTTP server, until the client is gone."""

    def __init__(self, origin: Origin, own_headers: Headers, session: Session, report: Report) -> None:
        self._session = session
        self._origin = origin
        self._judge = Judge(session, report, self._act)
        self._report = report
        self._upstream = Upstream(ServerSession(origin, own_headers), self._from_server, self._lose, report)
        self._lines = LineSplitter()
        self._said: list[bytes] = []
        self._open = True
        self._reading = False
        self._is_file = False
        self._is_ending = self._is_over = False
        self._woken = False
        self._parent = os.getppid()

    async def run(self) -> None:
        """Relay until the client has closed its side or a signal comes."""
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._out = Outbox(AsyncLoop(), 1)
        self._out.on_broken = self._end
        self._out.on_drained = self._drained
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self._loop.add_signal_handler(number, self._signalled)
        self._loop.call_later(HEARTBEAT_SECONDS, self._heartbeat)
        self._read(True)
        try:
            await self._over.wait()
        finally:
            self._read(False)
            self._origin.close()
            self._session.close(time.monotonic())
            # Others may share the description behind our standard output.
            os.set_blocking(1, True)

    # client -> server

    def _read(self, reading: bool) -> None:
        if reading == self._reading:
            return
        self._reading = reading
        if self._is_file:
            if reading:
                self._loop.call_soon(self._readable)
        elif not reading:
            self._loop.remove_reader(0)
        else:
            try:
                self._loop.add_reader(0, self._readable)
            except PermissionError:
                # A regular file, or the null device: it can't be watched, but never keeps one waiting.
                self._is_file = True
                self._loop.call_soon(self._readable)

    def _readable(self) -> None:
        if not self._reading:
            return
        try:
            data = os.read(0, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._client_ended()
            return
        for line in self._lines.receive(data):
            self._from_client(line)
        if self._is_crowded():
            self._read(False)
            self._loop.call_later(LOOK_SECONDS, self._read_on)
        elif self._is_file:
            self._loop.call_soon(self._readable)

    def _is_crowded(self) -> bool:
        return self._out.size > BACKLOG_BYTES or self._upstream.unsent_bytes > BACKLOG_BYTES

    def _read_on(self) -> None:
        if not self._open:
            return
        if self._is_crowded():
            self._loop.call_later(LOOK_SECONDS, self._read_on)
        else:
            self._read(True)

    def _from_client(self, line: bytes) -> None:
        if not line.strip():
            return
        if type(line) is bytes and self._judge.of_client([line]):
            self._upstream.send(line)
        elif type(line) is not bytes:
            self._report("client.line_too_long", {"what_now": "it was not sent"})

    def _act(self, action: FromClient | FromServer, _line: bytes) -> None:
        if isinstance(action, Answer):
            self._say(action.line)

    def _client_ended(self) -> None:
        self._read(False)
        self._open = False
        rest = self._lines.rest()
        if rest:
            self._from_client(rest)
        is_file = self._is_file and stat.S_ISREG(os.fstat(0).st_mode)
        self._end(FILE_INPUT_SECONDS if is_file else LAST_ANSWERS_SECONDS)

    # server -> client

    def _from_server(self, line: bytes) -> None:
        self._say(self._judge.of_server([line]))
        if self._session.later:
            self._judge.catch_up()
        if not self._woken:
            self._woken = True
            self._loop.call_later(WAKE_SECONDS, self._judge.wake)

    def _lose(self, message_id: Any, why: str, data: dict[str, Any]) -> None:
        text = why[:1].upper() + why[1:] + ("" if why.endswith((".", "?")) else ".")
        self._say(self._session.lost(message_id, text, data, time.monotonic()))

    def _say(self, line: bytes) -> None:
        """Write to the client: at once if nothing else is on its way, else with what comes in the same turn."""
        self._said.append(line)
        if self._upstream.waiting <= 1:
            self._flush()
        elif len(self._said) == 1:
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        said, self._said = self._said, []
        if said:
            self._out.send(b"".join(said))
            if self._out.size > BACKLOG_BYTES:
                self._upstream.pause(True)

    def _drained(self) -> None:
        if self._is_over:
            self._over.set()
        else:
            self._upstream.pause(False)

    # the end

    def _heartbeat(self) -> None:
        """Settle what waits, and notice a parent that went without closing the pipe."""
        self._judge.settle()
        if os.getppid() != self._parent:
            self._signalled()
        self._loop.call_later(HEARTBEAT_SECONDS, self._heartbeat)

    def _signalled(self) -> None:
        self._open = False
        self._read(False)
        if self._is_ending:
            self._say_goodbye()
        self._end(SIGNALLED_SECONDS)

    def _end(self, patience: float = 0.0) -> None:
        """Wait a moment for answers, then leave."""
        if self._is_ending and patience != SIGNALLED_SECONDS:
            return
        self._is_ending = True
        self._upstream.on_idle = self._say_goodbye
        if self._upstream.waiting and patience:
            self._loop.call_later(patience, self._say_goodbye)
        else:
            self._say_goodbye()

    def _say_goodbye(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._upstream.on_idle = _nothing
        self._upstream.end(_Goodbye(self._finish))
        self._loop.call_later(GOODBYE_SECONDS, self._finish)

    def _finish(self) -> None:
        self._flush()
        if self._out.size == 0:
            self._over.set()
        else:
            self._loop.call_later(LAST_WORDS_SECONDS, self._over.set)


class _Goodbye:
    """Hears the answer to the end of a session, whatever it is."""

    def __init__(self, finish: Any) -> None:
        self.on_end = finish

    def on_head(self, _status: int, _reason: bytes, _headers: Headers) -> None:
        """Whether the server ends sessions is its own affair (405)."""

    def on_data(self, _data: bytes) -> None:
        """Nothing in it matters any more."""

    def on_failure(self, _error: PeerError) -> None:
        """It is gone already."""
        self.on_end()


def _nothing() -> None:
    """All has been said."""
