"""Hands every finished call to the journal."""

from collections.abc import Callable

from rearview_interceptors.api import Call, Interceptor, Reply, Said

CALL_BYTES = 1024
TEXT_BYTES = 4096
"""What a call and its reply's text hold at most, about: large arguments have been cut, and so has the text."""
Finished = tuple[Call, Reply, Said | None]


class Capture(Interceptor):
    """Gives each finished call, and how many bytes of memory it may hold, to `sink`; the rest is the sink's business.

    `wanted` says whether calls of a tool (server, tool) are captured at all. It is asked once per tool, so a change
    in the configuration takes effect with the next process.
    """

    def __init__(self, sink: Callable[[Finished, int], object], wanted: Callable[[str, str], bool]) -> None:
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
            self._sink((call, reply, said), CALL_BYTES + min(reply.size, TEXT_BYTES))
