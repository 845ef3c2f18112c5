"""The ledger: every call that was journaled and what was learned from it, in one SQLite file beside the journals.

The learner alone writes calls and evidence; commands read, and change what the user decides about lessons. Both may
have it open at the same time.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from rearview.errors import StoreError
from rearview.learn.model import CallRecord
from rearview.store import ledger_lessons, ledger_reading
from rearview.store.exported_lessons import lessons_in
from rearview.store.ledger_file import CorruptLedger, Report, open_engine, set_aside, told
from rearview.store.ledger_lessons import LessonView
from rearview.store.ledger_reading import Counts
from rearview.store.lessons import write_table
from rearview.store.state import StateFolder


class Ledger:
    """One open ledger. Every method that may raise raises `StoreError`, and may be called again after that."""

    def __init__(self, path: Path, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._engine = engine
        self._clock = clock

    def close(self) -> None:
        """Let go of the file; what was committed is in it."""
        self._engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction that waits for its turn to write: all of it is kept, or, on any exception, nothing."""
        with told(self.path), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One transaction that sees a single moment and keeps nobody waiting."""
        with told(self.path), self._engine.connect().execution_options(reading=True) as connection:
            yield connection

    def recent_calls(
        self, owner: str, limit: int = 20, server: str | None = None, *, failed_only: bool = False
    ) -> list[CallRecord]:
        """Return the owner's last calls, the newest first."""
        with self.reading() as connection:
            return ledger_reading.recent_calls(connection, owner, limit, server, failed_only=failed_only)

    def arguments_of(self, owner: str, digests: Sequence[str]) -> dict[str, str]:
        """Return by digest the arguments, as JSON text, of those of these calls that are still kept."""
        with self.reading() as connection:
            return ledger_reading.arguments_of(connection, owner, digests)

    def servers(self, owner: str) -> list[str]:
        """Return the names of the servers that there are calls of."""
        with self.reading() as connection:
            return ledger_reading.servers(connection, owner)

    def counts(self, owner: str) -> Counts:
        """Count what there is of one owner."""
        with self.reading() as connection:
            return ledger_reading.counts(connection, owner)

    def lessons(self, owner: str) -> list[LessonView]:
        """Return the owner's active and muted lessons with their evidence, the surest first."""
        with self.reading() as connection:
            return ledger_lessons.views(connection, owner)

    def lesson(self, owner: str, lesson: str) -> LessonView | None:
        """Return one of the owner's active or muted lessons with its evidence."""
        with self.reading() as connection:
            return next(iter(ledger_lessons.views(connection, owner, lesson)), None)

    def mute(self, owner: str, lesson: str) -> bool:
        """Keep a lesson from being spoken while it goes on learning; False if there is none. `publish` afterwards."""
        with self.writing() as connection:
            return ledger_lessons.set_muted(connection, owner, lesson, muted=True, now=self._clock())

    def unmute(self, owner: str, lesson: str) -> bool:
        """Let a muted lesson speak again; False if there is none. `publish` afterwards."""
        with self.writing() as connection:
            return ledger_lessons.set_muted(connection, owner, lesson, muted=False, now=self._clock())

    def forget(self, owner: str, lesson: str) -> bool:
        """Delete a lesson and its evidence; False if there is none. `publish` afterwards."""
        with self.writing() as connection:
            return ledger_lessons.forget(connection, owner, lesson, self._clock())

    def export_lessons(self, owner: str, *, exact: bool = False) -> dict[str, Any]:
        """Return the owner's active lessons as plain JSON, without saying whose they are.

        Without `exact`, those about one call as a whole stay: no other state folder makes the same digest of it.
        """
        with self.reading() as connection:
            return ledger_lessons.export(connection, owner, exact=exact)

    def import_lessons(self, owner: str, exported: Mapping[str, Any]) -> int:
        """Add the lessons that the owner lacks, marked as imported; return how many. `publish` afterwards.

        Raises:
            StoreError: something in it is not as an export has it: where and what; nothing was added.
        """
        try:
            lessons = lessons_in(exported, owner)
        except ValueError as error:
            message = f"The lessons can't be imported: {error}"
            raise StoreError(message) from error
        with self.writing() as connection:
            return ledger_lessons.take_in(connection, lessons, self._clock())

    def unreadable_lines(self) -> int:
        """Return how many lines of journals that are still known could not be read."""
        with self.reading() as connection:
            return ledger_reading.unreadable_lines(connection)

    def healthy(self) -> str:
        """Return what is wrong with the file, empty if nothing is. Reads all of it."""
        try:
            with self.reading() as connection:
                found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        except StoreError as error:
            return str(error)
        return "" if found == "ok" else f"The ledger {self.path} is damaged: {found}"


def open_ledger(state: StateFolder, repair: Report | None = None, clock: Callable[[], float] = time.time) -> Ledger:
    """Open the state folder's ledger, made if missing. With `repair`, a damaged one is moved aside and that reported.

    Only the learner may repair, while it holds its lock: a command would take the file away under the learner.

    Raises:
        StoreError: it can't be opened, is damaged, or a newer Rearview has written it.
    """
    try:
        engine = open_engine(state.ledger, check=repair is not None)
    except CorruptLedger:
        if repair is None:
            raise
        set_aside(state.ledger, clock(), repair)
        engine = open_engine(state.ledger)
    return Ledger(state.ledger, engine, clock)


def publish(ledger: Ledger, state: StateFolder) -> int:
    """Write the active lessons of all owners to the table that relays read, and return how many there are.

    Learner and commands may do so at the same time: a lock makes the last one write what all of them decided.

    Raises:
        StoreError: the ledger can't be read, or the table not be written.
    """
    with _alone(state.root / "publish.lock"):
        with ledger.reading() as connection:
            lessons = ledger_lessons.active(connection)
        write_table(state.lessons, lessons)
    return len(lessons)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        message = f"The lock {path} can't be opened ({error.strerror}): fix the folder's permissions"
        raise StoreError(message) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
