"""A request of the client that has no answer yet."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rearview_interceptors.api import Call, Said


class Pending:
    """Method and exact id of a request; for a `tools/call` also what was read of it and said about it."""

    __slots__ = ("call", "cancelled", "id", "method", "said")

    def __init__(self, message_id: Any, method: str) -> None:
        self.id = message_id
        self.method = method
        self.call: Call | None = None
        self.said: Said | None = None
        self.cancelled = False
