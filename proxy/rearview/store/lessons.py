"""The lessons table on disk: written whole by the learner, looked for again once a second by relays."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rearview.errors import StoreError
from rearview.learn.model import ScopedLesson
from rearview.store.lessons_format import table_image
from rearview.store.lessons_table import Identity, LessonsTable

__all__ = ["LessonsFile", "LessonsTable", "Report", "write_table"]

Report = Callable[[str, dict[str, Any]], None]

_CHECK_SECONDS = 1.0
_STALE_SECONDS = 3600


def write_table(path: Path, lessons: Iterable[ScopedLesson]) -> None:
    """Replace the table at `path` by one that holds `lessons`; readers keep the old one until they look again.

    A tool keeps its best 4,000 lessons.

    Raises:
        StoreError: the folder can't be written; the old table is still there.
    """
    image = table_image(lessons)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        try:
            _write_durably(temporary, image)
            _remove_stale(path, newer=temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        msg = (
            f"The lessons table {path} can't be written ({error.strerror}); make room or fix the folder's permissions."
        )
        raise StoreError(msg) from error


class LessonsFile:
    """The newest usable table at a path. Nothing that is wrong with the file ever gets out of here as an exception.

    A file that can't be used means "no lessons" until another one takes its place, and is reported once
    (`lessons.unusable`).
    """

    __slots__ = ("_checked", "_identity", "_path", "_report", "_reported", "table")

    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report
        self._reported = ""
        self._checked: float | None = None
        self._identity: Identity | None = None
        self.table: LessonsTable | None = None

    def refresh(self, now: float) -> bool:
        """Look at most once a second of `now` (any steady clock) whether the file was replaced.

        Returns:
            Whether what `for_tool` answers may have changed, be it to nothing.
        """
        if self._checked is not None and 0 <= now - self._checked < _CHECK_SECONDS:
            return False
        self._checked = now
        try:
            info = os.lstat(self._path)
        except FileNotFoundError:
            return self._replace(None, None)
        except OSError as error:
            self._complain(f"The lessons table {self._path} can't be looked at ({error.strerror}).")
            return self._replace(None, None)
        if self._identity == (info.st_ino, info.st_size, info.st_mtime_ns):
            return False
        try:
            table = LessonsTable.open(self._path)
        except StoreError as error:
            self._complain(str(error))
            return self._replace(None, (info.st_ino, info.st_size, info.st_mtime_ns))
        self._reported = ""
        return self._replace(table, table.identity)

    def for_tool(self, owner: str, server: str, tool: str) -> tuple[ScopedLesson, ...]:
        """Return the lessons of one tool; empty if there are none, or none that can be trusted."""
        if self.table is None:
            return ()
        try:
            return self.table.for_tool(owner, server, tool)
        except StoreError as error:
            self._complain(str(error))
            return ()

    def close(self) -> None:
        """Let go of the table."""
        self._replace(None, None)

    def _replace(self, table: LessonsTable | None, identity: Identity | None) -> bool:
        old, self.table, self._identity = self.table, table, identity
        if old is not None:
            old.close()
        return old is not None or table is not None

    def _complain(self, problem: str) -> None:
        if problem != self._reported:
            self._reported = problem
            self._report("lessons.unusable", {"problem": problem})


def _write_durably(path: Path, image: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor, not a path
        file.write(image)
        file.flush()
        os.fsync(descriptor)


def _remove_stale(path: Path, newer: Path) -> None:
    """Remove what writers that were killed left behind, by the file system's own clock."""
    limit = newer.stat().st_mtime - _STALE_SECONDS
    for left in path.parent.glob(f".{path.name}.*.tmp"):
        if left.lstat().st_mtime < limit:
            left.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
