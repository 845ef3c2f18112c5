"""The conversations that go through one HTTP server, by the names that it gave them."""

import asyncio
import time
from collections import OrderedDict
from functools import partial
from hashlib import blake2b

from rearview.core.meeting import MakeParts, Parts
from rearview.core.session import Session
from rearview.transports.http_heads import SESSION_ID, Headers, field

SESSIONS_LIMIT = 10_000
CLIENTS_LIMIT = 1_000
SETTLE_SECONDS = 0.05


class Sessions:
    """The conversations that a server has named, the last used ones, and the clients that make do without.

    A request without a session's name gets a session for itself, since ids of several clients may be the same; what
    judges and watches is shared by all such requests of a client, so that a held call is known when it comes again.
    """

    def __init__(self, make: MakeParts) -> None:
        self._make = make
        self._known: OrderedDict[bytes, Session] = OrderedDict()
        self._named: set[Session] = set()
        self._clients: OrderedDict[bytes, Parts] = OrderedDict()
        self._unsettled: set[Session] = set()
        self._count = 0
        self._prefix = f"http-{time.time():.0f}"

    def of(self, headers: Headers) -> Session:
        """Return the session that a request belongs to; one that began before we did is new to us."""
        name = field(headers, SESSION_ID)
        session = self._known.get(name)
        if session is None:
            session = Session(partial(self._shared, headers))
            if name:
                self.keep(name, session)
        else:
            self._known.move_to_end(name)
        return session

    def _fresh(self) -> Parts:
        self._count += 1
        return self._make(f"{self._prefix}-{self._count}")

    def _shared(self, headers: Headers) -> Parts:
        told = field(headers, b"authorization") + b"\0" + field(headers, b"user-agent")
        key = blake2b(told, digest_size=16).digest()
        parts = self._clients.get(key)
        if parts is None:
            parts = self._clients[key] = self._fresh()
            if len(self._clients) > CLIENTS_LIMIT:
                self._clients.popitem(last=False)[1][0].settle()
        else:
            self._clients.move_to_end(key)
        return parts

    def keep(self, name: bytes, session: Session) -> None:
        """Remember a session by the name that the server gave it."""
        # It has called nothing yet, so what it would have shared with others is not there yet either.
        session.load = self._fresh
        self._known[name] = session
        self._named.add(session)
        if len(self._known) > SESSIONS_LIMIT:
            self._end(self._known.popitem(last=False)[1])

    def drop(self, name: bytes) -> None:
        """Forget a session that is over."""
        session = self._known.pop(name, None)
        if session is not None:
            self._end(session)

    def done(self, session: Session) -> None:
        """An answer is whole: what waits is settled when nothing else happens; without a name, the session is over."""
        if session not in self._named and session.waiting:
            session.close(time.monotonic())
        elif session.unsettled:
            if not self._unsettled:
                asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settle)
            self._unsettled.add(session)

    def _settle(self) -> None:
        for session in self._unsettled:
            session.settle()
        self._unsettled.clear()

    def _end(self, session: Session) -> None:
        self._named.discard(session)
        session.close(time.monotonic())

    def close(self) -> None:
        """Forget all of them."""
        self._settle()
        for name in list(self._known):
            self.drop(name)
