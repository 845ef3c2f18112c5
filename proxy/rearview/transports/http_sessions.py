"""The conversations that go through one HTTP server, by the names that it gave them."""

import time
from collections import OrderedDict
from collections.abc import Callable

from rearview.core.session import Session

SESSION_ID = b"mcp-session-id"
SESSIONS_LIMIT = 10_000

MakeSession = Callable[[str], Session]
"""Makes a session for a client of that name."""


class Sessions:
    """The conversations that a server has named, the last used ones of them."""

    def __init__(self, make: MakeSession) -> None:
        self._make = make
        self._known: OrderedDict[bytes, Session] = OrderedDict()
        self._count = 0

    def new(self) -> Session:
        """Return a session that has no name yet, and may never get one."""
        self._count += 1
        return self._make(f"http-{time.time():.0f}-{self._count}")

    def of(self, name: bytes) -> Session:
        """Return the session of that name; one that began before we did is new to us."""
        session = self._known.get(name)
        if session is None:
            session = self.new()
            self.keep(name, session)
        else:
            self._known.move_to_end(name)
        return session

    def keep(self, name: bytes, session: Session) -> None:
        """Remember a session by the name that the server gave it."""
        self._known[name] = session
        if len(self._known) > SESSIONS_LIMIT:
            self._known.popitem(last=False)[1].close(time.monotonic())

    def drop(self, name: bytes) -> None:
        """Forget a session that is over."""
        session = self._known.pop(name, None)
        if session is not None:
            session.close(time.monotonic())

    def close(self) -> None:
        """Forget all of them."""
        for name in list(self._known):
            self.drop(name)
