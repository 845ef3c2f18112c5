"""What the bytes of the lessons table mean: layout, rows, and the checks that a row passes before anyone believes it.

A table is a header, an index and one section for each tool:

    header   magic, version, number of index entries, number of lessons, file size, BLAKE2b of header and index
    index    entries sorted by scope hash: hash of (owner, server, tool), offset, length, BLAKE2b of the section
    section  JSON: [owner, server, tool, [row, ...]]

The checksums find accidents. Nothing in a table is trusted because of them: each row is checked field by field.
"""

from collections.abc import Iterable
from struct import Struct

import orjson

from rearview.learn.blake2 import blake2b
from rearview.learn.model import ScopedLesson
from rearview.store.lessons_rows import MAX_FIXES, RowReader

MAGIC = b"RVLESSON"
FORMAT_VERSION = 1
HEADER = Struct("<8sIIIQ16s")
ENTRY = Struct("<16sQI8s")

MAX_TOOLS = 200_000
MAX_LESSONS_PER_TOOL = 4_000
MAX_SECTION_BYTES = 8 * 2**20

_SECTION_FIELDS = 4


def scope_hash(owner: str, server: str, tool: str) -> bytes:
    """Return the 16 bytes by which the index knows a tool."""
    parts = (owner, server, tool)
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def section_hash(section: bytes) -> bytes:
    """Return the checksum of one tool's section."""
    return blake2b(section, digest_size=8).digest()


def encode_section(owner: str, server: str, tool: str, lessons: Iterable[ScopedLesson]) -> tuple[bytes, int]:
    """Return the section of one tool and how many lessons are in it.

    A lesson that JSON can't hold (a lone surrogate) is left out, and what comes last where a section would be too long.
    """
    rows = [row for scoped in lessons if (row := _encoded(scoped)) is not None]
    head = orjson.dumps([owner, server, tool])[:-1] + b",["
    size = len(head) + 2
    kept = 0
    for row in rows[:MAX_LESSONS_PER_TOOL]:
        size += len(row) + 1
        if size > MAX_SECTION_BYTES:
            break
        kept += 1
    return head + b",".join(rows[:kept]) + b"]]", kept


def decode_section(section: bytes, owner: str, server: str, tool: str) -> tuple[list[ScopedLesson], int]:
    """Return the lessons of one section and how many rows were skipped.

    Raises:
        ValueError: this is not a section, or the section of another tool.
    """
    body = orjson.loads(section)
    if type(body) is not list or len(body) != _SECTION_FIELDS or body[:3] != [owner, server, tool]:
        msg = "not the section of this tool"
        raise ValueError(msg)
    rows = body[3]
    if type(rows) is not list:
        msg = "no rows"
        raise ValueError(msg)
    read = RowReader(owner, server, tool)
    lessons = [scoped for row in rows[:MAX_LESSONS_PER_TOOL] if (scoped := read.row(row)) is not None]
    return lessons, len(rows) - len(lessons)


def table_image(lessons: Iterable[ScopedLesson]) -> bytes:
    """Return a whole table; the same lessons give the same bytes in whatever order they come."""
    tools: dict[tuple[str, str, str], list[ScopedLesson]] = {}
    for scoped in lessons:
        tools.setdefault((scoped.owner, scoped.server, scoped.tool), []).append(scoped)
    sections = sorted((scope_hash(*scope), *_section(scope, rows)) for scope, rows in tools.items() if _is_json(scope))
    offset = HEADER.size + len(sections) * ENTRY.size
    index = bytearray()
    for scope_key, section, _ in sections:
        index += ENTRY.pack(scope_key, offset, len(section), section_hash(section))
        offset += len(section)
    kept = sum(count for _, _, count in sections)
    blank = HEADER.pack(MAGIC, FORMAT_VERSION, len(sections), kept, offset, bytes(16))
    checksum = blake2b(blank + index, digest_size=16).digest()
    head = HEADER.pack(MAGIC, FORMAT_VERSION, len(sections), kept, offset, checksum)
    return b"".join([head, index, *(section for _, section, _ in sections)])


def _section(scope: tuple[str, str, str], rows: list[ScopedLesson]) -> tuple[bytes, int]:
    best = sorted(rows, key=lambda s: (not s.lesson.loud, -s.lesson.score, -s.lesson.last_seen, s.lesson.id))
    return encode_section(*scope, best)


def _is_json(scope: tuple[str, str, str]) -> bool:
    """Tell whether the names are text; a lone surrogate can reach us from the wire."""
    return all(name.isascii() or not any("\ud800" <= c <= "\udfff" for c in name) for name in scope)


def _encoded(scoped: ScopedLesson) -> bytes | None:
    it = scoped.lesson
    fixes = [[f.action, f.field, f.to, f.trajectories] for f in it.fixes[:MAX_FIXES]]
    head = [it.id, it.condition, it.key, it.field, it.kind, it.failed, it.met, it.last_seen, it.score, it.loud]
    try:
        return orjson.dumps([*head, fixes, it.good_form, scoped.env])
    except orjson.JSONEncodeError:
        return None
