"""Asks the session about lines, with a net under it: whatever fails in our own parts, the lines go on."""

import time
from collections.abc import Callable, Mapping
from functools import partial

from rearview.core.actions import PASS, FromClient, FromServer, Replace
from rearview.core.session import Session

Report = Callable[[str, Mapping[str, object]], None]
Act = Callable[[FromClient | FromServer, bytes], None]


class Judge:
    """Sorts lines into those that go through and those for which `act` does something else.

    `report` hears of each kind of failure once.
    """

    def __init__(self, session: Session, report: Report, act: Act) -> None:
        self._session = session
        # What goes to the server, and what goes to the client, of the lines that came from the other one.
        self.of_client: Callable[[list[bytes]], list[bytes]] = partial(self._through, session.from_client)
        self.of_server: Callable[[list[bytes]], list[bytes]] = partial(self._through, session.from_server)
        self._report = report
        self._reported: set[str] = set()
        self._act = act

    def _through(self, decide: Callable[[bytes, float], FromClient | FromServer], lines: list[bytes]) -> list[bytes]:
        now = time.monotonic()
        through = []
        for line in lines:
            # A `Piece` of a line that is too long to be a message is passed on unread.
            try:
                action = decide(line, now) if type(line) is bytes else PASS
            except Exception as error:  # noqa: BLE001 - the last net under the conversation
                self._failed(type(error).__name__)
                action = PASS
            if action is PASS:
                through.append(line)
                if type(line) is not bytes:
                    self._failed("LineTooLong")
            elif isinstance(action, Replace):
                through.append(action.line)
            else:
                self._act(action, line)
        return through

    def catch_up(self) -> None:
        """Let the session look at what was forwarded first."""
        try:
            self._session.catch_up(time.monotonic())
        except Exception as error:  # noqa: BLE001 - the lines are on their way
            self._failed(type(error).__name__)

    def wake(self) -> None:
        """Let the session load the rest of itself."""
        try:
            self._session.wake()
        except Exception as error:  # noqa: BLE001 - it relays without
            self._failed(type(error).__name__)

    def _failed(self, error: str) -> None:
        if error not in self._reported:
            self._reported.add(error)
            event = "relay.line_too_long" if error == "LineTooLong" else "relay.failed"
            self._report(event, {"error": error, "what_now": "the message passed as it was"})
