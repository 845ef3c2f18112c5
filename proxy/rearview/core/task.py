"""Which task a call belongs to, as far as one relay can tell."""

from collections.abc import Mapping
from typing import Any

REF_LIMIT = 128


def client_ref(meta: Mapping[str, Any]) -> str:
    """Return what the client itself calls the task in a request's `_meta`, as `kind:id`; empty if it does not say.

    Codex sends the turn, VS Code the chat request, others a W3C trace context.
    """
    turn = meta.get("x-codex-turn-metadata")
    if isinstance(turn, Mapping) and isinstance(turn.get("turn_id"), str):
        return f"codex:{turn['turn_id'][:REF_LIMIT]}"
    request = meta.get("vscode.requestId")
    if isinstance(request, str):
        return f"vscode:{request[:REF_LIMIT]}"
    trace = meta.get("traceparent")
    if isinstance(trace, str):
        _version, _, rest = trace.partition("-")
        trace_id, _, rest = rest.partition("-")
        return f"trace:{trace_id[:REF_LIMIT]}" if rest else ""
    return ""


class TaskClock:
    """Names this relay's stretches of calls without an idle gap."""

    __slots__ = ("_count", "_prefix", "gap_s")

    def __init__(self, prefix: str, gap_s: float) -> None:
        self.gap_s = gap_s
        self._prefix = prefix
        self._count = 0

    def next_task(self) -> str:
        """Return the name of the task that begins now."""
        self._count += 1
        return f"{self._prefix}:{self._count}"
