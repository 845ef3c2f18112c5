"""What both generations of HTTP clients share on the way to a child: the session's word on each line."""

import asyncio
from typing import Protocol

from rearview.core.actions import Answer, FromClient, FromServer, Noise
from rearview.core.session import Session
from rearview.transports.judge import Judge, Report

SETTLE_SECONDS = 0.05


class Errors(Protocol):
    """Where lines go that are no messages."""

    def send(self, data: bytes) -> None:
        """Write `data`, now or later."""
        ...


class Ear:
    """Tells one session of all lines of a conversation and says what goes on of them."""

    def __init__(self, session: Session, report: Report, errors: Errors) -> None:
        self.session = session
        self._judge = Judge(session, report, self._act)
        self._errors = errors
        self._held = b""
        self._timer: asyncio.TimerHandle | None = None

    def of_client(self, line: bytes) -> tuple[bytes, bytes]:
        """Return what goes to the server, or else our own answer; neither, where nobody has to hear of it."""
        self._held = b""
        return self._judge.of_client([line]), self._held

    def of_server(self, line: bytes) -> bytes:
        """Return what goes to the client; empty for nothing."""
        return self._judge.of_server([line])

    def rest(self) -> None:
        """Look at what was forwarded first, and soon at what was kept back. Call it when all is written."""
        if self.session.later:
            self._judge.catch_up()
        if self._timer is None and self.session.unsettled:
            self._timer = asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settle)

    def _settle(self) -> None:
        self._timer = None
        self._judge.settle()

    def _act(self, action: FromClient | FromServer, line: bytes) -> None:
        if isinstance(action, Answer):
            self._held = action.line
        elif isinstance(action, Noise):
            self._errors.send(line)
