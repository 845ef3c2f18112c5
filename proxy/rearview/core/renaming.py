"""Puts another id into a message, byte for byte the same otherwise: many clients share one server, and count alike."""

import re

from rearview.core.jsonspan import locate

Path = tuple[str | int, ...]

ID: Path = ("id",)
TOKEN: Path = ("params", "_meta", "progressToken")
PROGRESS: Path = ("params", "progressToken")
CANCELLED: Path = ("params", "requestId")
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
SUBSCRIPTION: Path = ("params", "_meta", SUBSCRIPTION_KEY)
ENDED_SUBSCRIPTION: Path = ("result", "_meta", SUBSCRIPTION_KEY)

# As nearly all write it; to look for a member that stands first, the whole message need not be walked through.
_ID_FIRST = re.compile(rb'\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*[,}]')


def swap(raw: bytes, path: Path, value: bytes) -> tuple[bytes, bytes] | None:
    """Return `raw` with the JSON text `value` at `path`, and the text that stood there; `None` if there is nothing."""
    first = _ID_FIRST.match(raw) if path == ID else None
    # Where the key stands twice the last one counts, and that takes a closer look.
    span = first.span(1) if first and raw.count(b'"id"') == 1 else locate(raw, path)
    if span is None:
        return None
    return raw[: span[0]] + value + raw[span[1] :], raw[span[0] : span[1]]
