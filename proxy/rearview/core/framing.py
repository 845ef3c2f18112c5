"""Cuts a byte stream into lines."""

SHORT_BYTES = 8192
_BREAKS = bytes.maketrans(b"\r\n", b"  ")
LINE_LIMIT_BYTES = 64 * 2**20


class Piece(bytes):
    """A part of a line that outgrew the limit: it is passed on in its place, and never looked at."""

    __slots__ = ()


class LineSplitter:
    """Collects bytes until a newline. Never decodes, trims or reorders; splits at `\\n` only."""

    __slots__ = ("_overlong", "_parts", "_size", "limit")

    def __init__(self, limit: int = LINE_LIMIT_BYTES) -> None:
        self.limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._overlong = False

    def receive(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, each with its newline.

        A line that outgrew the limit comes in `Piece`s: what was collected of it, and then whatever arrives.
        """
        parts = self._parts
        if len(data) <= SHORT_BYTES and not parts and data[-1:] == b"\n" and not data.partition(b"\n")[2]:
            # The usual case, one whole line, by the one search that costs the least.
            return self._pieces(data) if self._overlong else [data]
        if self._overlong:
            return self._pieces(data)
        end = data.rfind(b"\n") + 1
        if not end:
            return self._keep(data)
        if parts:
            first = data.find(b"\n") + 1
            parts.append(data[:first])
            lines = [b"".join(parts)]
            parts.clear()
            self._size = 0
            if first < end:
                lines += _split(data[first:end])
        else:
            lines = _split(data[:end])
        if end < len(data):
            lines += self._keep(data[end:])
        return lines

    def rest(self) -> bytes:
        """Return, and forget, what came after the last newline."""
        rest = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return rest

    def _keep(self, data: bytes) -> list[bytes]:
        self._parts.append(data)
        self._size += len(data)
        if self._size <= self.limit:
            return []
        self._overlong = True
        return [Piece(self.rest())]

    def _pieces(self, data: bytes) -> list[bytes]:
        end = data.find(b"\n") + 1
        if not end:
            return [Piece(data)]
        self._overlong = False
        return [Piece(data[:end]), *(self.receive(data[end:]) if end < len(data) else ())]


def _split(block: bytes) -> list[bytes]:
    # Not splitlines: it splits at \r, \v and others too.
    return [line + b"\n" for line in block[:-1].split(b"\n")]


def one_line(body: bytes) -> bytes:
    """Return a JSON text as one line. Outside of strings a line break is a blank, and inside there can be none."""
    if b"\n" in body or b"\r" in body:
        body = body.strip(b"\r\n").translate(_BREAKS)
    return body + b"\n"
