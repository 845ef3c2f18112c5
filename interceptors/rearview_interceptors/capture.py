"""Hands every finished call to the journal."""

from collections.abc import Callable

from rearview_interceptors.api import Call, Interceptor, Reply, Said

Finished = tuple[Call, Reply, Said | None]


class Capture(Interceptor):
    """Gives each finished call to `sink` as it is; redaction and encoding are the sink's business, off the hot path.

    `wanted` says whether calls of a tool (server, tool) are captured at all. It is asked once per tool, so a change
    in the configuration takes effect with the next process.
    """

    def __init__(self, sink: Callable[[Finished], None], wanted: Callable[[str, str], bool]) -> None:
        self._sink = sink
        self._wanted = wanted
        self._known: dict[tuple[str, str], bool] = {}

    def on_finished(self, call: Call, reply: Reply, said: Said | None) -> None:
        """Hand it on, unless the tool's capture mode is off."""
        tool = call.server, call.tool
        wanted = self._known.get(tool)
        if wanted is None:
            wanted = self._known[tool] = self._wanted(*tool)
        if wanted:
            self._sink((call, reply, said))
