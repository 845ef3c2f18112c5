"""One lessons table, open for reading a tool at a time.

Nothing of the file is mapped into memory. A mapped page of a file that somebody cuts short kills the process that
touches it (SIGBUS), and nothing in Python can catch that; `pread` gives a short answer instead. It costs no more: an
open table is one descriptor and a few numbers, and finding a tool takes about ten reads of 36 bytes, once for each tool
and table.
"""

import os
import stat
from pathlib import Path
from typing import NoReturn

from rearview.errors import StoreError
from rearview.learn.blake2 import blake2b
from rearview.learn.model import ScopedLesson
from rearview.store.lessons_format import (
    ENTRY,
    FORMAT_VERSION,
    HEADER,
    MAGIC,
    MAX_SECTION_BYTES,
    MAX_TOOLS,
    decode_section,
    scope_hash,
    section_hash,
)

Identity = tuple[int, int, int]
"""Inode, size and time of change: another file, or a file that was written to."""

_CHUNK_BYTES = 64 * 1024
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class LessonsTable:
    """One table, open; a tool's lessons are read and checked when they are asked for."""

    __slots__ = ("_descriptor", "_index_end", "_path", "_tools", "identity", "lessons", "skipped")

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        info = os.fstat(descriptor)
        self.identity: Identity = (info.st_ino, info.st_size, info.st_mtime_ns)
        self.skipped = 0
        """Rows that were read and not believed so far."""
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & _WRITABLE_BY_OTHERS:
            self._refuse("is not a regular file that only its owner can write")
        self._tools, self.lessons = self._read_header(info.st_size)
        self._index_end = HEADER.size + self._tools * ENTRY.size

    @classmethod
    def open(cls, path: Path) -> "LessonsTable":
        """Open the table at `path`; the last component is not followed if it is a link.

        Raises:
            StoreError: it is missing, foreign, broken, or of a newer version.
        """
        try:
            # Non-blocking, or a pipe that somebody put there would stop the relay.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            msg = f"The lessons table {path} can't be opened ({error.strerror}); delete it, it will be written again."
            raise StoreError(msg) from error
        try:
            return cls(path, descriptor)
        except OSError as error:
            os.close(descriptor)
            msg = f"The lessons table {path} can't be read ({error.strerror})."
            raise StoreError(msg) from error
        except StoreError:
            os.close(descriptor)
            raise

    def for_tool(self, owner: str, server: str, tool: str) -> tuple[ScopedLesson, ...]:
        """Return the lessons of one tool, empty if it has none. Reads the file each time: keep the answer.

        Raises:
            StoreError: the section is not what the index promised.
        """
        try:
            entry = self._find(scope_hash(owner, server, tool))
            if entry is None:
                return ()
            offset, length, checksum = entry
            if length > MAX_SECTION_BYTES or offset < self._index_end or offset + length > self.identity[1]:
                self._refuse("has a section outside of the file")
            section = os.pread(self._descriptor, length, offset)
        except OSError as error:
            self._refuse(f"can't be read ({error.strerror})")
        if section_hash(section) != checksum:
            self._refuse("was changed after it was written")
        try:
            lessons, skipped = decode_section(section, owner, server, tool)
        except ValueError:
            self._refuse("has a section that can't be read")
        self.skipped += skipped
        return tuple(lessons)

    def close(self) -> None:
        """Give the descriptor back; the table can't be asked any more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _read_header(self, size: int) -> tuple[int, int]:
        head = os.pread(self._descriptor, HEADER.size, 0)
        if len(head) < HEADER.size or not head.startswith(MAGIC):
            self._refuse("is not a lessons table")
        magic, version, tools, lessons, promised, checksum = HEADER.unpack(head)
        if version != FORMAT_VERSION:
            self._refuse(f"has version {version}, this program reads version {FORMAT_VERSION}")
        if promised != size or tools > MAX_TOOLS or HEADER.size + tools * ENTRY.size > size:
            self._refuse("is cut short or broken")
        digest = blake2b(HEADER.pack(magic, version, tools, lessons, promised, bytes(16)), digest_size=16)
        at, end = HEADER.size, HEADER.size + tools * ENTRY.size
        while at < end and (chunk := os.pread(self._descriptor, min(_CHUNK_BYTES, end - at), at)):
            digest.update(chunk)
            at += len(chunk)
        if at < end or digest.digest() != checksum:
            self._refuse("is broken")
        return tools, lessons

    def _find(self, wanted: bytes) -> tuple[int, int, bytes] | None:
        low, high = 0, self._tools
        while low < high:
            middle = (low + high) // 2
            entry = os.pread(self._descriptor, ENTRY.size, HEADER.size + middle * ENTRY.size)
            if len(entry) < ENTRY.size:
                self._refuse("was cut short after it was opened")
            scope, offset, length, checksum = ENTRY.unpack(entry)
            if scope == wanted:
                return offset, length, checksum
            if scope < wanted:
                low = middle + 1
            else:
                high = middle
        return None

    def _refuse(self, what: str) -> NoReturn:
        msg = f"The lessons table {self._path} {what}; delete it, it will be written again."
        raise StoreError(msg)
