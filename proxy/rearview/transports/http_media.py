"""What the head of a request says of the generation of its client, and of what it takes."""

from rearview.core.calls import MODERN_KEY
from rearview.core.message import JsonObject
from rearview.transports.http_heads import Headers, field

VERSION = b"mcp-protocol-version"
LEGACY_VERSIONS = frozenset({b"2024-11-05", b"2025-03-26", b"2025-06-18", b"2025-11-25"})
_METHODS = frozenset({b"GET", b"POST", b"DELETE"})


def is_modern(headers: Headers, message: JsonObject | None) -> bool:
    """Tell whether a request stands for itself (2026-07-28 and later), by its head or by its `_meta`."""
    version = field(headers, VERSION)
    if version and version not in LEGACY_VERSIONS:
        return True
    params = message.get("params") if message else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and MODERN_KEY in meta


def prefers_events(headers: Headers) -> bool:
    """Tell whether a client names events before JSON, so that it gets a stream which it can take up again."""
    takes = field(headers, b"accept").lower()
    return -1 < takes.find(b"text/event-stream") < takes.find(b"application/json")


def objection_to_media(method: bytes, headers: Headers) -> tuple[int, str]:
    """Return the status and the reason to refuse what a client sends or takes; no reason if there is none."""
    takes = {part.partition(b";")[0].strip() for part in field(headers, b"accept").lower().split(b",")}
    kind = field(headers, b"content-type").lower().partition(b";")[0].strip()
    if method not in _METHODS:
        return 405, "only GET, POST and DELETE are known here"
    if method != b"DELETE" and not takes & {b"text/event-stream", b"text/*", b"*/*"}:
        return 406, "Accept has to name text/event-stream"
    if method == b"POST" and not takes & {b"application/json", b"application/*", b"*/*"}:
        return 406, "Accept has to name application/json, too"
    if method == b"POST" and kind != b"application/json":
        return 415, "Content-Type has to be application/json"
    return 0, ""
