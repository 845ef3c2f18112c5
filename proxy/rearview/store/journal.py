"""The queue between the relay's thread, which must never wait, and the thread that writes its journal."""

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from rearview.store.journal_file import FolderFull, JournalFile, remove_expired

GATHER_SECONDS = 0.05
"""The writer works when no call has come for so long, so that it does not take the interpreter away amid a burst."""
PATIENCE_SECONDS = 0.5
"""It does not wait longer than this for a burst to end; nor when the queue is half full."""
BATCH_BYTES = 64 * 1024
GROUP_ITEMS = 8
YIELD_SECONDS = 0.0001
"""The pause after each group. Not 0: the relay's thread needs some 50 us to wake up and take the interpreter."""
IDLE_SECONDS = 1.0
"""When nothing has come for so long, `on_idle` is called."""
BUSY_SECONDS = 0.001
"""The pause while calls keep coming."""
RETRY_SECONDS = 5.0
PAUSE_EVERY = 16
PAUSE_SECONDS = 0.002
"""So, thousands of calls on end are slowed down to what the writer can keep up with, rather than lost."""
_DAY_SECONDS = 86_400


class Limits(NamedTuple):
    """How much the journal may hold: in a file, in the folder, in days, and in memory."""

    max_file_bytes: int = 16 * 2**20
    max_total_bytes: int = 256 * 2**20
    retention_days: float = 7.0
    queue_records: int = 10_000
    queue_bytes: int = 8 * 2**20


class Journal:
    """Takes items from one thread and appends them, encoded, to a file from another.

    `name` is the relay's id, its process id and its start in Unix time. `encode` turns an item into one line without a
    newline, or into `None` for nothing; it runs on the writer's thread, and an item that makes it raise is dropped.
    `opening` is an item, too: it is encoded at the head of each file. `on_idle` is called on the writer's thread, once
    after each stretch of work. When the queue is full, new items are dropped.
    While the file can't be written, what is queued is dropped, and every few seconds it is tried again.

    `report` hears each of these once: `journal.queue_full` (on the thread that puts), `journal.encode_failed`,
    `journal.unwritable` and `journal.folder_full` (on the writer's); what it raises is ignored.

    Counters, to read only: `offered` items, `errors` that could not be encoded, and the properties.
    """

    def __init__(
        self,
        folder: Path,
        name: tuple[str, int, float],
        encode: Callable[[Any], bytes | None],
        *,
        report: Callable[[str, dict[str, Any]], None],
        limits: Limits | None = None,
        opening: Any = None,
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self._limits = limits = limits or Limits()
        self._folder = folder
        self._encode = encode
        self._report = report
        self._on_idle = on_idle
        self._reported: set[str] = set()
        self._file = JournalFile(
            folder,
            name,
            limits.max_file_bytes,
            limits.max_total_bytes,
            lambda: None if opening is None else self._encoded(opening),
        )
        # Each number is changed by one thread only: offered, refused and bytes_in by the one that puts.
        self.offered = self._refused = self._bytes_in = 0
        self.errors = self._lost = self._bytes_out = 0
        self._queue: deque[tuple[Any, int]] = deque()
        self._crowd_records = limits.queue_records // 2
        self._crowd_bytes = limits.queue_bytes // 2
        self._thread: Thread | None = None
        self._idle = True
        self._work, self._hurry = Event(), Event()
        self._retry_at = 0.0
        self._close_by: float | None = None
        self._final: Callable[[int], Any] | None = None

    @property
    def written(self) -> int:
        """Items that stand in a file as a whole line, the opening and the final one aside."""
        return self._file.written

    @property
    def dropped(self) -> int:
        """Items that were lost, for whatever reason; those in `errors` among them."""
        return self._refused + self._lost

    def put(self, item: Any, size: int) -> None:
        """Queue the item, which weighs about `size` bytes in memory. Never raises; one thread only.

        While the queue is nearly full, one in `PAUSE_EVERY` items waits for `PAUSE_SECONDS`; no other ever waits.
        """
        self.offered += 1
        queue = self._queue
        if len(queue) >= self._crowd_records or self._bytes_in - self._bytes_out + size > self._crowd_bytes:
            if self._is_full(size):
                return
            self._hurry.set()
            if self.offered % PAUSE_EVERY == 0 and self._is_nearly_full():
                time.sleep(PAUSE_SECONDS)
        queue.append((item, size))
        self._bytes_in += size
        if self._idle:
            self._wake()

    def close(self, deadline_s: float, final: Callable[[int], Any] | None = None) -> None:
        """Write what is queued, then the item that `final` makes of the number of dropped items; give up the lock.

        Returns after `deadline_s` at the latest, and a little later what is then still queued counts as dropped. If
        nothing was ever put, nothing is written.
        """
        self._final = final
        self._crowd_records = -1
        self._close_by = time.monotonic() + deadline_s
        self._work.set()
        self._hurry.set()
        if self._thread is not None:
            self._thread.join(deadline_s)

    def _is_nearly_full(self) -> bool:
        crowd = self._bytes_in - self._bytes_out > self._crowd_bytes * 1.5
        return self._close_by is None and (crowd or len(self._queue) > self._crowd_records * 1.5)

    def _is_full(self, size: int) -> bool:
        too_many = len(self._queue) >= self._limits.queue_records
        too_much = self._bytes_in - self._bytes_out + size > self._limits.queue_bytes
        if not (too_many or too_much or self._close_by is not None):
            return False
        self._refused += 1
        if self._close_by is None:
            self._tell("journal.queue_full", {"records": len(self._queue), "bytes": self._bytes_in - self._bytes_out})
        return True

    def _wake(self) -> None:
        self._idle = False
        if self._thread is not None:
            self._work.set()
            return
        thread = Thread(target=self._run, name="journal", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # No thread to be had at the moment: the next put tries again, and a full queue says so.
            self._idle = True
        else:
            self._thread = thread

    def _run(self) -> None:
        self._let_pass()
        remove_expired(self._folder, time.time() - self._limits.retention_days * _DAY_SECONDS)
        while self._queue or self._close_by is None:
            if self._queue:
                self._drain()
            else:
                self._rest()
        with suppress(OSError):
            if self._final is not None and (line := self._encoded(self._final(self.dropped))) is not None:
                self._file.append([line])
                self._file.written -= 1
        with suppress(OSError):
            self._file.close()

    def _rest(self) -> None:
        """Sleep until there is something to do, then a moment longer."""
        self._work.clear()
        self._idle = True
        # Whoever puts appends first and looks at `_idle` then; here it is the other way round, so no item is missed.
        if not self._queue and self._close_by is None and not self._work.wait(IDLE_SECONDS):
            self._on_idle()
            self._work.wait()
        self._idle = False
        if self._close_by is None:
            self._hurry.clear()
            self._let_pass()

    def _let_pass(self) -> None:
        """Wait until the burst is over, or for as long as there is room for it."""
        patience = time.monotonic() + PATIENCE_SECONDS
        seen = -1
        while seen != self.offered and time.monotonic() < patience:
            seen = self.offered
            if self._hurry.wait(GATHER_SECONDS):
                return

    def _drain(self) -> None:
        while self._queue:
            late = self._close_by is not None and time.monotonic() > self._close_by
            if late or (time.monotonic() < self._retry_at and self._close_by is None):
                self._give_up_queue()
                return
            try:
                self._file.prepare()
            except OSError as error:
                self._unwritable(error)
            else:
                self._append(self._batch())

    def _batch(self) -> list[bytes]:
        lines: list[bytes] = []
        size = taken = 0
        seen, queue = self.offered, self._queue
        while queue and size < BATCH_BYTES:
            item, weight = queue.popleft()
            self._bytes_out += weight
            line = self._encoded(item)
            if line is not None:
                lines.append(line)
                size += len(line) + 1
            taken += 1
            # In a hurry, the interpreter's own turns of half a millisecond are fair enough.
            if taken % GROUP_ITEMS == 0 and self._close_by is None and not self._hurry.is_set():
                time.sleep(YIELD_SECONDS if seen == self.offered else BUSY_SECONDS)
                seen = self.offered
        return lines

    def _append(self, lines: list[bytes]) -> None:
        """Append the lines; after an error, once more from the first that is not whole in the file."""
        failure: OSError | None = None
        for _ in range(2):
            if not lines:
                return
            before = self._file.written
            try:
                self._file.append(lines)
            except OSError as error:
                failure = error
            lines = lines[self._file.written - before :]
        if lines and failure is not None:
            self._lost += len(lines)
            self._unwritable(failure)

    def _encoded(self, item: Any) -> bytes | None:
        try:
            line = self._encode(item)
            if line is None or b"\n" not in line:
                return line
            error = "newline in the line"
        except Exception as raised:  # noqa: BLE001 - one item that can't be encoded must not cost the others
            error = type(raised).__name__
        self.errors += 1
        self._lost += 1
        self._tell("journal.encode_failed", {"error": error})
        return None

    def _give_up_queue(self) -> None:
        while self._queue:
            self._bytes_out += self._queue.popleft()[1]
            self._lost += 1

    def _unwritable(self, error: OSError) -> None:
        self._retry_at = time.monotonic() + RETRY_SECONDS
        event = "journal.folder_full" if isinstance(error, FolderFull) else "journal.unwritable"
        self._tell(event, {"folder": str(self._folder), "error": error.strerror or type(error).__name__})
        if self._close_by is not None:
            self._give_up_queue()

    def _tell(self, event: str, fields: dict[str, Any]) -> None:
        if event not in self._reported:
            self._reported.add(event)
            with suppress(Exception):
                self._report(event, fields)
