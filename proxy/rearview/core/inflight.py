"""A request of the client that has no answer yet, other than a `tools/call`: of that the `Call` itself is kept."""

from typing import Any


class Pending:
    """Method and exact id of a request."""

    __slots__ = ("id", "method")

    def __init__(self, message_id: Any, method: str) -> None:
        self.id = message_id
        self.method = method
