"""Opens the ledger's database: its settings, its version, and what happens when the file can't be used."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from rearview.errors import StoreError
from rearview.store.migrations import migrate

Report = Callable[[str, Mapping[str, object]], None]

BUSY_SECONDS = 10.0
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_SIDE_FILES = ("-wal", "-shm")


class CorruptLedger(StoreError):
    """The file is there and is no ledger any more."""


def open_engine(path: Path, *, check: bool = False) -> Engine:
    """Open the ledger at `path`, made if missing, at the present version. `check` reads all of it once for damage.

    Raises:
        CorruptLedger: the file is damaged.
        StoreError: it can't be opened, or a newer Rearview has written it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        message = f"The ledger {path} can't be opened ({error.strerror}): fix its permissions or free some space"
        raise StoreError(message) from error
    engine = create_engine(
        URL.create("sqlite+pysqlite", database=str(path)),
        pool_size=1,
        connect_args={"timeout": BUSY_SECONDS},
        # An error message must not quote what somebody's calls held.
        hide_parameters=True,
    )
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    try:
        with told(path), engine.begin() as connection:
            if check and connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() != "ok":
                raise CorruptLedger(_corrupt(path))
            migrate(connection, str(path))
    except StoreError:
        engine.dispose()
        raise
    return engine


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what the database raises into a `StoreError` that names the file; a bug in a query stays what it is."""
    try:
        yield
    except DBAPIError as error:
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        if code in _BROKEN:
            raise CorruptLedger(_corrupt(path)) from error
        if isinstance(error.orig, sqlite3.OperationalError):
            message = f"The ledger {path} can't be used just now ({error.orig}): check the disk and its permissions"
            raise StoreError(message) from error
        raise


def set_aside(path: Path, now: float, report: Report) -> Path:
    """Move a damaged ledger out of the way, so that a new one can begin. Only the learner, which is alone, may."""
    aside = path.with_name(f"{path.name}.corrupt-{int(now)}")
    for suffix in ("", *_SIDE_FILES):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    report(
        "ledger.corrupt",
        {
            "moved_to": str(aside),
            "lost": "what it held of journals that are deleted by now; those still there begin a new ledger",
        },
    )
    return aside


def _corrupt(path: Path) -> str:
    return f"The ledger {path} is damaged: the learner moves it aside at its next start and begins a new one"


def _set_up(connection: sqlite3.Connection, _record: object) -> None:
    # The driver must not open transactions by itself, because `_begin` does.
    connection.isolation_level = None
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
