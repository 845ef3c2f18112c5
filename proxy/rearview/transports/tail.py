"""The last bytes of a stream."""

TAIL_BYTES = 8 * 2**10


class Tail:
    """Keeps the last 8 KB of what a server wrote to standard error, in memory only."""

    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = b""

    def add(self, data: bytes) -> None:
        """Take more bytes."""
        self._data = (self._data + data)[-TAIL_BYTES:]

    def text(self) -> str:
        """Return them as text, from the first whole line on."""
        data = self._data
        if len(data) == TAIL_BYTES and b"\n" in data:
            data = data[data.index(b"\n") + 1 :]
        return data.decode("utf-8", "replace").strip()
