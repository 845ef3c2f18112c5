"""A request on its way to a child that many clients share, and how a notification names one."""

from typing import Any

from rearview.core.message import JsonObject
from rearview.core.renaming import CANCELLED, PROGRESS, SUBSCRIPTION, SUBSCRIPTION_KEY, Path
from rearview.transports.ear import Ear
from rearview.transports.http_exchange import Exchange
from rearview.transports.http_streams import Stream

LISTEN = "subscriptions/listen"


class Asked:
    """One request on its way: the names that its client gave it, and the stream for the answer."""

    __slots__ = ("behind", "ear", "exchange", "id", "is_paused", "method", "number", "stream", "token")

    def __init__(self, number: int, exchange: Exchange, ear: Ear, method: str) -> None:
        self.number = number
        self.exchange = exchange
        self.stream = Stream(exchange)
        self.ear = ear
        self.method = method
        self.id = b"null"
        self.token = b"null"
        self.is_paused = False
        self.behind = 0

    def pause(self, paused: bool) -> None:
        """Note whether the client is slow."""
        self.is_paused, self.behind = paused, 0


def names_in(body: JsonObject) -> tuple[Path, Any] | None:
    """Return where a notification names a request, and the name."""
    params = body.get("params")
    if not isinstance(params, dict):
        return None
    meta = params.get("_meta")
    if isinstance(meta, dict) and SUBSCRIPTION_KEY in meta:
        return SUBSCRIPTION, meta[SUBSCRIPTION_KEY]
    if body["method"] == "notifications/progress":
        return PROGRESS, params.get("progressToken")
    if body["method"] == "notifications/cancelled":
        return CANCELLED, params.get("requestId")
    return None
