"""What the core asks an edge to do with a line.

Plain classes: four dataclasses would cost the relay a tenth of its start.
"""

from typing import Final


class Pass:
    """Forward the line as it came. There is one, `PASS`, because nearly every message gets it."""

    __slots__ = ()


class Noise:
    """The server's line is no message: it belongs to standard error."""

    __slots__ = ()


class Swallow:
    """The line answers a message of ours, or is for a server that is gone: nobody gets it."""

    __slots__ = ()


class _WithLine:
    __slots__ = ("line",)

    def __init__(self, line: bytes) -> None:
        self.line = line

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.line == getattr(other, "line", None)

    def __hash__(self) -> int:
        return hash((type(self), self.line))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.line!r})"


class Answer(_WithLine):
    """Send `line` to the client instead of forwarding the client's message."""

    __slots__ = ()


class Replace(_WithLine):
    """Send `line` to the client in place of the server's."""

    __slots__ = ()


class ToServer(_WithLine):
    """The server's line answered a message of ours: nobody gets it, and `line` goes to the server."""

    __slots__ = ()


FromClient = Pass | Answer | Swallow
FromServer = Pass | Replace | ToServer | Noise | Swallow
PASS: Final = Pass()
NOISE: Final = Noise()
SWALLOW: Final = Swallow()
