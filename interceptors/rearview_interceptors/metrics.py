"""Counts calls, outcomes and what was said, per server and tool."""

from typing import Any

from rearview_interceptors.api import Call, Interceptor, Reply, Said

TOOLS_COUNTED = 1000
OTHERS = "(others)"
"""The tool name under which calls are counted once `TOOLS_COUNTED` different tools are known."""


class _Counts:
    """Plain counters of one tool."""

    __slots__ = ("calls", "grades", "said", "seconds")

    def __init__(self) -> None:
        self.calls = 0
        self.seconds = 0.0
        self.grades: dict[str, int] = {}
        self.said: dict[str, int] = {}


class Metrics(Interceptor):
    """Counts in memory only. A client can make up tool names, so their number is bounded."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str], _Counts] = {}

    def on_finished(self, call: Call, reply: Reply, said: Said | None) -> None:
        """Count one call."""
        counts = self._tools.get((call.server, call.tool)) or self._new(call.server, call.tool)
        counts.calls += 1
        counts.seconds += reply.took_s
        counts.grades[reply.grade] = counts.grades.get(reply.grade, 0) + 1
        if said is not None:
            counts.said[said.channel] = counts.said.get(said.channel, 0) + 1

    def snapshot(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return server -> tool -> `calls`, `seconds`, `grades` and `said`; plain types, a copy."""
        result: dict[str, dict[str, dict[str, Any]]] = {}
        for (server, tool), counts in self._tools.items():
            result.setdefault(server, {})[tool] = {
                "calls": counts.calls,
                "seconds": counts.seconds,
                "grades": {str(grade): number for grade, number in counts.grades.items()},
                "said": dict(counts.said),
            }
        return result

    def _new(self, server: str, tool: str) -> _Counts:
        if len(self._tools) >= TOOLS_COUNTED:
            tool = OTHERS
        return self._tools.setdefault((server, tool), _Counts())
