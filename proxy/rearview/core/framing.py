"""Cuts a byte stream into lines."""

LINE_LIMIT_BYTES = 64 * 2**20


class LineTooLong(Exception):
    """A line outgrew the limit: the peer is broken."""


class LineSplitter:
    """Collects bytes until a newline. Never decodes, trims or reorders; splits at `\\n` only."""

    __slots__ = ("_parts", "_size", "limit")

    def __init__(self, limit: int = LINE_LIMIT_BYTES) -> None:
        self.limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def receive(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, each with its newline.

        Raises:
            LineTooLong: the unfinished line outgrew `limit`; what was collected of it is kept for `rest`.
        """
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return []
        parts = self._parts
        if parts:
            first = data.find(b"\n") + 1
            parts.append(data[:first])
            lines = [b"".join(parts)]
            parts.clear()
            self._size = 0
            if first == len(data):
                return lines
            if first < end:
                lines += _split(data[first:end])
        elif end == len(data) and data.find(b"\n") + 1 == end:
            return [data]
        else:
            lines = _split(data[:end])
        if end < len(data):
            self._keep(data[end:])
        return lines

    def rest(self) -> bytes:
        """Return, and forget, what came after the last newline."""
        rest = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return rest

    def _keep(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._size > self.limit:
            raise LineTooLong


def _split(block: bytes) -> list[bytes]:
    # Not splitlines: it splits at \r, \v and others too.
    return [line + b"\n" for line in block[:-1].split(b"\n")]
