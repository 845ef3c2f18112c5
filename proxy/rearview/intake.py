"""Moves what relays have written from their journals into the ledger, and deletes a journal when all of it is there."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rearview.errors import StoreError
from rearview.store import ledger_intake
from rearview.store.journal_reader import is_live, journal_files, read_lines, remove_finished
from rearview.store.journal_records import Unreadable, record_of
from rearview.store.ledger import Ledger
from rearview.store.ledger_intake import Batch, Taken

BATCH_LINES = 500
BATCH_BYTES = 4 * 2**20
QUIET_SECONDS = 0.4
"""A journal that is being written belongs to a relay at work, and to learn now would take its processor from it."""
PATIENCE_SECONDS = 10.0
"""After this long, or with this much to read, it is read all the same."""
PATIENCE_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Round:
    """What one look at the journal folder brought. `live` names the relays whose journal is still held."""

    lines: int
    calls: int
    live: frozenset[str]


class Intake:
    """Reads journals in batches. If one can't be stored, its lines are taken singly, and the bad ones passed over."""

    def __init__(self, ledger: Ledger, folder: Path, log: Any) -> None:
        self._ledger = ledger
        self._folder = folder
        self._log = log
        with ledger.reading() as connection:
            self._offsets = ledger_intake.offsets(connection)
        self._unread_since: dict[str, float] = {}

    def read_all(self, *, patient: bool = False) -> Round:
        """Take in every whole line that is there now; if `patient`, leave a journal that is being written for later.

        Raises:
            StoreError: the ledger can't be written; what was committed stays, the rest comes next time.
        """
        lines, calls, live = 0, 0, set()
        paths = journal_files(self._folder)
        for path in paths:
            # Asked before reading: once nobody holds the file, what we read then is all there will ever be.
            held = is_live(path)
            if held:
                live.add(_relay_of(path))
                if patient and self._is_busy(path):
                    continue
            read = self._read(path, last_time=not held)
            lines, calls = lines + read[0], calls + read[1]
        self._forget({path.name for path in paths})
        return Round(lines, calls, frozenset(live))

    def _is_busy(self, path: Path) -> bool:
        try:
            found = path.stat()
        except OSError:
            return False
        now = time.time()
        unread = found.st_size - self._offsets.get(path.name, 0)
        since = self._unread_since.setdefault(path.name, now)
        busy = 0 <= now - found.st_mtime < QUIET_SECONDS
        if not unread or not busy or now - since > PATIENCE_SECONDS or unread > PATIENCE_BYTES:
            del self._unread_since[path.name]
            return False
        return True

    def _read(self, path: Path, *, last_time: bool) -> tuple[int, int]:
        offset, lines, calls = self._offsets.get(path.name, 0), 0, 0
        try:
            size = path.stat().st_size
            for batch in _batches(path, offset) if size > offset else ():
                calls += self._take(batch)
                offset, lines = batch.after, lines + len(batch.lines)
            if last_time:
                self._finish(path, offset)
        except OSError as error:
            self._log.warning("journal.unreadable", file=path.name, reason=error.strerror)
        return lines, calls

    def _finish(self, path: Path, offset: int) -> None:
        if path.stat().st_size > offset:
            # The relay was killed, or the disk was full, in the middle of this line.
            self._log.warning("journal.torn_line", file=path.name, bytes=path.stat().st_size - offset)
        remove_finished(path)

    def _take(self, batch: Batch) -> int:
        taken = self._stored(batch)
        self._offsets[batch.file] = batch.after
        if taken.unreadable or taken.repeated:
            self._log.warning(
                "journal.lines_skipped", file=batch.file, unreadable=len(taken.unreadable),
                reasons=sorted(set(taken.unreadable)), repeated=taken.repeated,
            )  # fmt: skip
        return taken.calls

    def _stored(self, batch: Batch) -> Taken:
        try:
            with self._ledger.writing() as connection:
                return ledger_intake.take(connection, batch)
        except StoreError:
            raise
        except Exception as error:  # one line that nobody foresaw must not stop all journals
            if isinstance(batch.records[0], Unreadable) and len(batch.lines) == 1:
                raise
            reason = f"it can't be stored ({type(error).__name__})"
        if len(batch.lines) == 1:
            return self._stored(replace(batch, lines=((batch.after, Unreadable(reason)),)))
        parts = [self._stored(single) for single in batch.singles()]
        return Taken(
            sum(part.calls for part in parts),
            sum(part.repeated for part in parts),
            tuple(reason for part in parts for reason in part.unreadable),
        )

    def _forget(self, names: set[str]) -> None:
        self._unread_since = {name: since for name, since in self._unread_since.items() if name in names}
        gone = self._offsets.keys() - names
        if gone:
            with self._ledger.writing() as connection:
                ledger_intake.forget_files(connection, gone)
            for name in gone:
                del self._offsets[name]


def _batches(path: Path, offset: int) -> Iterator[Batch]:
    lines: list[tuple[int, Any]] = []
    before, size = offset, 0
    for after, line in read_lines(path, offset):
        lines.append((after, record_of(line)))
        size += len(line)
        if len(lines) >= BATCH_LINES or size >= BATCH_BYTES:
            yield Batch(path.name, before, tuple(lines))
            before, size, lines = after, 0, []
    if lines:
        yield Batch(path.name, before, tuple(lines))


def _relay_of(path: Path) -> str:
    """Return the relay id in `<started>-<pid>-<relay>[.<part>].jsonl`."""
    return path.name.split("-", 2)[2].split(".")[0]
