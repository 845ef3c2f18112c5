"""Puts the tar archive on standard input in the place of the state folder. For `deploy/restore`.

It runs where the state is, in the container, with the standard library only, and while no relay and no learner is at
work there. What was there before is kept beside it. Until all of the archive is there and its sums are right, nothing
is moved.
"""

import fcntl
import hashlib
import os
import re
import shutil
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import IO

SUMS = "SHA256SUMS"
NAME = re.compile(r"(?:journal/)?[A-Za-z0-9][A-Za-z0-9._-]*")
NEEDED = "version"


def main(root: Path) -> None:
    """Restore the state folder `root`."""
    root.parent.mkdir(parents=True, exist_ok=True)
    refuse_if_used(root)
    if root.is_dir() and os.path.ismount(root):
        sys.exit(f"{root} is a mount and can't be replaced: mount the volume one folder higher")
    fresh = Path(tempfile.mkdtemp(prefix=f".{root.name}.restore-", dir=root.parent))
    try:
        (fresh / "journal").mkdir(mode=0o700)
        extract(fresh)
        if root.exists():
            before = root.with_name(f"{root.name}.before-{int(time.time())}")
            root.rename(before)
            sys.stderr.write(f"what was there before is kept in {before}\n")
        fresh.rename(root)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def refuse_if_used(root: Path) -> None:
    """Leave if a relay holds a journal of this folder, or a learner its lock."""
    for path in (root / "learner.lock", *(root / "journal").glob("*.jsonl")):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"somebody is at work in {root} ({path.name}): stop the relay first")
        finally:
            os.close(handle)


def extract(folder: Path) -> None:
    """Write what the archive holds to `folder`, and leave if it is not what `deploy/backup` wrote."""
    sums: dict[str, str] = {}
    told: dict[str, str] = {}
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if member.isdir():
                continue
            source = archive.extractfile(member) if member.isreg() else None
            if source is None or not NAME.fullmatch(name):
                sys.exit(f"{member.name!r} does not belong into a backup: nothing was changed")
            if name == SUMS:
                told = {line[66:]: line[:64] for line in source.read().decode().splitlines()}
            else:
                sums[name] = write(folder / name, source)
    if sums != told or NEEDED not in sums:
        sys.exit("the backup is damaged or incomplete: nothing was changed")


def write(path: Path, source: IO[bytes]) -> str:
    """Write one file that only its owner may read, to the disk and not only to its cache; return its sum."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w+b") as file:
        shutil.copyfileobj(source, file)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main(Path(os.environ.get("REARVIEW_STATE_DIR") or sys.exit("REARVIEW_STATE_DIR is not set")))
