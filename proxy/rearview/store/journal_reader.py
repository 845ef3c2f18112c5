"""Reads journal files while their relays go on writing them."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

SUFFIX = ".jsonl"
_BLOCK_BYTES = 256 * 1024
# Non-blocking: a pipe in the place of a journal would stop whoever opens it.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def journal_name(relay: str, pid: int, started: float, part: int) -> str:
    """Return the file name of one part of a relay's journal; the first part is 0 and has no number."""
    number = f".{part}" if part else ""
    return f"{int(started * 1000)}-{pid}-{relay}{number}{SUFFIX}"


def journal_files(folder: Path) -> list[Path]:
    """Return the journal files of a folder, oldest relay first, each relay's parts in order; none if it is missing."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are all that is needed, and this is the cheap way
    except OSError:
        return []
    found = [(key, name) for name in names if (key := _order(name)) is not None]
    return [folder / name for _, name in sorted(found)]


def read_lines(path: Path, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield each whole line from `offset` on, with the offset behind it; a line without its newline is left for later.

    Empty lines are skipped. What a full disk or a crash cut off is a line that is no JSON: the caller skips it.

    Raises:
        OSError: the file can't be opened or read.
    """
    with open(os.open(path, _OPEN), "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor, not a path
        file.seek(offset)
        rest = b""
        while block := file.read(_BLOCK_BYTES):
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            for line in lines:
                offset += len(line) + 1
                if line:
                    yield offset, line


def is_live(path: Path) -> bool:
    """Whether a relay still holds this file. Once it does not, the file never grows again."""
    try:
        handle = os.open(path, _OPEN)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def remove_finished(path: Path) -> bool:
    """Delete the file unless a relay holds it; whether it is gone.

    Deletes under the lock, so that a relay that has just created the file notices and starts another one. Delete
    journal files in no other way.
    """
    try:
        handle = os.open(path, _OPEN)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _order(name: str) -> tuple[int, int, str, int] | None:
    """Return what a journal file name sorts by, or `None` for any other file."""
    if not name.endswith(SUFFIX):
        return None
    started, _, rest = name[: -len(SUFFIX)].partition("-")
    pid, _, rest = rest.partition("-")
    relay, _, part = rest.partition(".")
    if not (started.isdigit() and pid.isdigit() and relay) or (part and not part.isdigit()):
        return None
    return int(started), int(pid), relay, int(part or 0)
