"""Asks the session about lines, with a net under it: whatever fails in our own parts, the lines go on."""

from collections.abc import Callable, Mapping
from time import monotonic

from rearview.core.actions import PASS, FromClient, FromServer, Replace
from rearview.core.session import Session

Report = Callable[[str, Mapping[str, object]], None]
Act = Callable[[FromClient | FromServer, bytes], None]


class Judge:
    """Returns what goes through of lines that arrived together; for all else that is to be done it calls `act`.

    `report` hears of each kind of failure once.
    """

    def __init__(self, session: Session, report: Report, act: Act) -> None:
        self._session = session
        # What goes to the server, and what goes to the client, of the lines that came from the other one.
        self.of_client: Callable[[list[bytes]], bytes] = self._sorted_by(session.from_client)
        self.of_server: Callable[[list[bytes]], bytes] = self._sorted_by(session.from_server)
        self._report = report
        self._reported: set[str] = set()
        self._act = act

    def _sorted_by(self, decide: Callable[[bytes, float], FromClient | FromServer]) -> Callable[[list[bytes]], bytes]:
        # Functions that know what they need cost a third less than methods, and these run for every message.
        other, failed = self._other, self._failed

        def judged(line: bytes, now: float) -> bytes:
            if type(line) is not bytes:
                # A `Piece` of a line that is too long to be a message is passed on unread.
                failed("LineTooLong")
                return line
            try:
                action = decide(line, now)
            except Exception as error:  # noqa: BLE001 - the last net under the conversation
                failed(type(error).__name__)
                return line
            return line if action is PASS else other(action, line)

        def through(lines: list[bytes]) -> bytes:
            now = monotonic()
            if len(lines) == 1:
                return judged(lines[0], now)
            return b"".join([judged(line, now) for line in lines])

        return through

    def _other(self, action: FromClient | FromServer, line: bytes) -> bytes:
        if isinstance(action, Replace):
            return action.line
        self._act(action, line)
        return b""

    def catch_up(self) -> None:
        """Let the session look at what was forwarded first."""
        try:
            self._session.catch_up(monotonic())
        except Exception as error:  # noqa: BLE001 - the lines are on their way
            self._failed(type(error).__name__)

    def settle(self) -> None:
        """Let the session tell of the calls that it kept back."""
        try:
            self._session.settle()
        except Exception as error:  # noqa: BLE001 - these calls are over
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
