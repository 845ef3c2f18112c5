"""Writes the state folder to standard output as a tar archive, while relays and the learner go on. For `deploy/backup`.

It runs where the state is, in the container, with the standard library only. The order is what makes it whole: journals
first, then the ledger, which takes them in and deletes them. A record that goes from one to the other in between is in
both, and counted once, because the ledger knows each record by its relay and number.
"""

import hashlib
import io
import os
import shutil
import sqlite3
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

File = io.BufferedReader | io.BytesIO

LEDGER = "ledger.sqlite3"
SUMS = "SHA256SUMS"
# A link in the place of a file leads to what is not ours; a pipe would stop whoever opens it.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def main(root: Path) -> None:
    """Write the archive. Its last member holds the sums of the others: one without it has been cut off."""
    if not (root / "version").is_file():
        sys.exit(f"{root} holds no state: nothing has been recorded yet, or REARVIEW_STATE_DIR is wrong")
    sums: list[str] = []
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        for name, file in contents(root):
            with file:
                sums.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
                add(archive, name, file)
        add(archive, SUMS, io.BytesIO("".join(sums).encode()))


def contents(root: Path) -> Iterator[tuple[str, File]]:
    """Yield name and content of each file that makes up the state; none of them changes any more."""
    for path in sorted((root / "journal").glob("*.jsonl")):
        if (lines := read(path)) is not None:
            # A line that is being written is for the next backup.
            yield f"journal/{path.name}", io.BytesIO(lines[: lines.rfind(b"\n") + 1])
    if (root / LEDGER).is_file():
        yield LEDGER, snapshot(root)
    for path in sorted(root.iterdir()):
        # Not the locks, drafts, and what SQLite keeps beside its file: they belong to processes that run now.
        if path.name.startswith((".", LEDGER)) or path.suffix == ".lock" or not path.is_file():
            continue
        if (content := read(path)) is not None:
            yield path.name, io.BytesIO(content)


def snapshot(root: Path) -> File:
    """Return the ledger as it is at one moment, whoever writes to it, as a file that has no name any more."""
    # In the state folder, because /tmp of a container is small, and nobody else may read this.
    folder = Path(tempfile.mkdtemp(prefix=".backup-", dir=root))
    try:
        copy = folder / LEDGER
        with closing(sqlite3.connect(f"{(root / LEDGER).as_uri()}?mode=rw", uri=True, timeout=30)) as ledger:
            ledger.execute("VACUUM INTO ?", (str(copy),))
        with closing(sqlite3.connect(copy)) as copied:
            found = copied.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            sys.exit(f"the ledger in {root} is damaged ({found}): nothing was saved")
        return copy.open("rb")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read(path: Path) -> bytes | None:
    """Return what the file holds, nothing if it is gone by now: the learner has taken it in."""
    try:
        with open(os.open(path, READ), "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            return file.read()
    except FileNotFoundError:
        return None


def add(archive: tarfile.TarFile, name: str, file: File) -> None:
    """Append one file that only its owner may read."""
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = file.seek(0, os.SEEK_END), 0o600, int(time.time())
    file.seek(0)
    archive.addfile(member, file)


if __name__ == "__main__":
    main(Path(os.environ.get("REARVIEW_STATE_DIR") or sys.exit("REARVIEW_STATE_DIR is not set")))
