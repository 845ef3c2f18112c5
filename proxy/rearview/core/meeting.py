"""What passes of both sides' names and of the server's tools, kept until somebody is there to hear it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from rearview.core.message import JsonObject

if TYPE_CHECKING:
    from rearview.core.calls import CallDesk


class Observer(Protocol):
    """Is told what a session learns about its server. Must not raise."""

    def on_server(self, client: Mapping[str, Any], server: Mapping[str, Any]) -> None:
        """Both sides have named themselves: `clientInfo` and `serverInfo`."""
        ...

    def on_tools(self, tools: list[Any]) -> None:
        """A `tools/list` answer has passed, or one page of it."""
        ...

    def on_restart(self, exit_code: int) -> None:
        """The server, started again after it had ended with `exit_code`, has given its first answer."""
        ...


Parts = tuple["CallDesk", Observer]
MakeParts = Callable[[str], Parts]
"""Makes what judges and watches for a client of that name."""


class Meeting:
    """Reads `initialize`, `server/discover` and `tools/list`; tells `parts` of them at once, or when they have come."""

    def __init__(self) -> None:
        self.parts: Parts | None = None
        self._client: Mapping[str, Any] = {}
        self._introduced: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
        self._listed: list[list[Any]] = []

    def join(self, parts: Parts) -> None:
        """Tell `parts` of all that has passed, and from now on of what passes."""
        self.parts = parts
        if self._introduced is not None:
            parts[1].on_server(*self._introduced)
        for tools in self._listed:
            self._show(tools, *parts)
        self._listed.clear()

    def asked(self, body: JsonObject) -> None:
        """Note the client's `initialize`."""
        self._client = as_mapping(as_mapping(body.get("params")).get("clientInfo"))

    def answered(self, method: str, result: Mapping[str, Any]) -> None:
        """Note what the server says of itself in answer to `method`."""
        if method == "initialize":
            self._introduce(as_mapping(result.get("serverInfo")))
        elif method == "server/discover":
            self._introduce(as_mapping(as_mapping(result.get("_meta")).get("io.modelcontextprotocol/serverInfo")))
        elif method == "tools/list" and isinstance(result.get("tools"), list):
            if self.parts is None:
                self._listed.append(result["tools"])
            else:
                self._show(result["tools"], *self.parts)

    def _introduce(self, server: Mapping[str, Any]) -> None:
        self._introduced = (self._client, server)
        if self.parts is not None:
            self.parts[1].on_server(*self._introduced)

    @staticmethod
    def _show(tools: list[Any], desk: "CallDesk", observer: Observer) -> None:
        desk.learn_tools(tools)
        observer.on_tools(tools)


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return `value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
