"""What a line of the client is to an HTTP server: a body, the requests in it, and header fields that repeat it."""

from collections.abc import Mapping
from typing import Any

from rearview.core.calls import MODERN_KEY
from rearview.core.framing import one_line
from rearview.core.jsonspan import locate
from rearview.core.meeting import as_mapping
from rearview.core.message import JsonObject, exact_id, id_key, look, look_at_batch
from rearview.transports.http_fields import NAMED_BY, TASKS, Parameter, argument, encoded, parameters, written
from rearview.transports.http_heads import Headers


class Message:
    """One line: `requests` has the exact ids of what is asked in it; `modern` the revision, if it says one itself."""

    __slots__ = ("body", "content", "method", "modern", "requests")

    def __init__(self, line: bytes) -> None:
        self.body = line.rstrip(b"\n")
        self.content = content = look(line)
        method = content.get("method") if content is not None else None
        self.method: str = method if type(method) is str else ""
        self.requests: dict[Any, Any] = {}
        self.modern = ""
        if content is None:
            for part in look_at_batch(line):
                if "method" in part and "id" in part:
                    self.requests[id_key(part["id"])] = part["id"]
        elif self.method and "id" in content:
            own_id = exact_id(line, content["id"])
            self.requests[id_key(own_id)] = own_id
            params = content.get("params")
            if type(params) is dict and "_meta" in params:
                version = as_mapping(params["_meta"]).get(MODERN_KEY)
                self.modern = version if type(version) is str else ""

    @property
    def is_reply(self) -> bool:
        """Whether it answers a question of the server."""
        return self.content is not None and not self.method and "id" in self.content

    @property
    def params(self) -> Mapping[str, Any]:
        """Its parameters, empty without any."""
        return as_mapping(self.content.get("params")) if self.content is not None else {}


class Tools:
    """What `tools/list` said that decides how a call is sent: fields that repeat arguments, and what only reads."""

    def __init__(self) -> None:
        self._repeated: dict[str, list[Parameter]] = {}
        self._read_only: set[str] = set()

    def learn(self, result: Mapping[str, Any]) -> None:
        """Take in an answer, or one page of it."""
        tools = result.get("tools")
        for tool in tools if type(tools) is list else ():
            name = as_mapping(tool).get("name")
            if type(name) is not str:
                continue
            self._repeated[name] = parameters(tool)
            if as_mapping(tool.get("annotations")).get("readOnlyHint") is True:
                self._read_only.add(name)
            else:
                self._read_only.discard(name)

    def may_repeat(self, message: Message) -> bool:
        """Tell whether a request that may have run can be sent again all the same."""
        if message.method == "tools/call":
            return message.params.get("name") in self._read_only
        return bool(message.method) and message.content is not None

    def fields(self, message: Message) -> Headers:
        """Return the fields that 2026-07-28 wants beside a request of its own."""
        params, method = message.params, message.method
        fields = [(b"mcp-protocol-version", encoded(message.modern)), (b"mcp-method", encoded(method))]
        key = "taskId" if method.startswith(TASKS) else NAMED_BY.get(method, "")
        name = params.get(key)
        if type(name) is str:
            fields.append((b"mcp-name", encoded(name)))
        if method == "tools/call" and type(name) is str:
            for parameter in self._repeated.get(name, ()):
                value = written(argument(params.get("arguments"), parameter.path))
                if value is not None:
                    fields.append((b"mcp-param-" + parameter.field.encode(), encoded(value)))
        return fields


def as_answer(body: bytes, message: Message) -> bytes | None:
    """Return a refusal as the JSON-RPC answer to the client's request, or `None` if it isn't one.

    Servers refuse what they have not read, so it may bear no id, or one of their own.
    """
    content = look(body)
    if content is None or not (_is_error(content) or "result" in content):
        return None
    if len(message.requests) == 1 and id_key(content.get("id")) not in message.requests:
        mine, its = locate(message.body, ("id",)), locate(body, ("id",))
        start = body.find(b"{") + 1
        if mine is None:
            return None
        own_id = message.body[slice(*mine)]
        body = (
            body[: its[0]] + own_id + body[its[1] :] if its else body[:start] + b'"id":' + own_id + b"," + body[start:]
        )
    return one_line(body)


def _is_error(content: JsonObject) -> bool:
    return "code" in as_mapping(content.get("error"))
