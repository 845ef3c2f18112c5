"""The file that one relay appends its journal lines to: locked, in parts, within the folder's size limit."""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rearview.store.journal_reader import journal_files, journal_name, remove_finished

_CREATE = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_LOCK_TRIES = 20
_LOCK_PAUSE_SECONDS = 0.005
_SCANS_PER_LIMIT = 64
"""The folder is measured again each time this relay has written a 64th of the size limit: all relays write into it."""


class FolderFull(OSError):
    """The journal folder holds as much as it may, and nothing in it may be deleted."""


class JournalFile:
    """Appends whole lines. Every method may raise `OSError`, and may be called again after that.

    `name` is the relay, its process id and its start (Unix time). Each part starts with the line that `opening` gives,
    is created with mode 0600 when its first line comes, and stays locked until the next part or `close`.
    A part outgrows `max_file_bytes` by at most the lines of one call.
    """

    def __init__(
        self,
        folder: Path,
        name: tuple[str, int, float],
        max_file_bytes: int,
        max_total_bytes: int,
        opening: Callable[[], bytes | None],
    ) -> None:
        self.written = 0
        """Lines that are whole in the file, opening lines aside."""
        self._folder = folder
        self._name = name
        self._max_file = max_file_bytes
        self._max_total = max_total_bytes
        self._opening = opening
        self._handle = -1
        self._part = 0
        self._size = 0
        self._room = 0
        self._torn = False

    def prepare(self) -> None:
        """See to it that there is an open part with room; cheap when there is."""
        if self._handle >= 0 and (self._size >= self._max_file or os.fstat(self._handle).st_nlink == 0):
            self.close()
        if self._room <= 0:
            self._make_room()
        if self._handle < 0:
            self._open()

    def append(self, lines: Sequence[bytes]) -> None:
        """Write the lines with one system call. After an error, those that are whole in the file count as written."""
        self.prepare()
        repair = self._torn
        data = b"\n".join([b"", *lines, b""] if repair else [*lines, b""])
        done = 0
        try:
            while done < len(data):
                done += os.write(self._handle, data[done:] if done else data)
        except OSError as error:
            if done:
                self._torn = data[done - 1] != ord("\n")
            if error.errno == errno.EFBIG:
                self.close()
            raise
        else:
            self._torn = False
        finally:
            self.written += data.count(b"\n", 0, done) - (repair and done > 0)
            self._size += done
            self._room -= done

    def close(self) -> None:
        """Release the lock: the part is finished for good."""
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            os.close(handle)

    def _open(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            path = self._folder / journal_name(*self._name, self._part)
            self._part += 1
            try:
                handle = os.open(path, _CREATE, 0o600)
            except FileExistsError:
                continue
            try:
                _lock(handle)
                if os.fstat(handle).st_nlink == 0:
                    # Somebody tidied up between its creation and its lock.
                    os.close(handle)
                    continue
                line = self._opening()
                if line is not None:
                    self._write_opening(handle, line + b"\n")
            except OSError:
                path.unlink(missing_ok=True)
                os.close(handle)
                raise
            self._handle, self._torn = handle, False
            return

    def _write_opening(self, handle: int, line: bytes) -> None:
        if os.write(handle, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size = len(line)
        self._room -= len(line)

    def _make_room(self) -> None:
        """Measure the folder, and delete the oldest finished files while it holds too much."""
        step = max(1, self._max_total // _SCANS_PER_LIMIT)
        sizes = {path: _size(path) for path in journal_files(self._folder)}
        total = sum(sizes.values())
        for path, size in sizes.items():
            if total + step <= self._max_total:
                break
            # Our own current part is locked, so it is never deleted here.
            if remove_finished(path):
                total -= size
        if total >= self._max_total:
            raise FolderFull(errno.EDQUOT, "the journal folder has reached its size limit")
        self._room = min(step, self._max_total - total)


def remove_expired(folder: Path, older_than: float) -> None:
    """Delete the finished journal files that were last written before `older_than` (Unix time)."""
    for path in journal_files(folder):
        try:
            expired = path.stat().st_mtime < older_than
        except OSError:
            continue
        if expired:
            remove_finished(path)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _lock(handle: int) -> None:
    """Take the exclusive lock; a reader that asks whether the file is live holds it for a moment only."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_SECONDS)
        else:
            return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
