"""Writes the relay's side of the data contract (`rearview.learn.model`): one finished exchange, one line.

Runs on the journal's writer thread: cut first, then redact what is left, then encode. The rules for that are imported
by the first line, on that thread: compiling them takes as long as all the rest of a relay's start.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from rearview.core.task import REF_LIMIT, client_ref
from rearview.learn.model import JOURNAL_VERSION
from rearview_interceptors.api import TEXT_LIMIT_CHARS, Call, Reply, Said

Finished = tuple[Call, Reply, Said | None]
NARROWED = "[redacted:narrow]"
NAME_CHARS = 200
HTTP_CLIENT = "http-"
"""Names of clients that connect by HTTP begin so."""


class ServerNamed(NamedTuple):
    """What the handshake said of both sides."""

    client: Mapping[str, Any]
    server: Mapping[str, Any]


class ToolsListed(NamedTuple):
    """One `tools/list` answer."""

    tools: list[Any]


class Restarted(NamedTuple):
    """The server was started again."""

    exit_code: int


class Ended(NamedTuple):
    """The relay's last word: the calls that lessons were tried on, and the records that were lost."""

    evaluated: int
    dropped: int


class Opening(NamedTuple):
    """The first line of every file."""


class Identity(NamedTuple):
    """Whose relay this is, and what it stands before."""

    relay: str
    owner: str
    server: str
    env: tuple[str, ...]
    pid: int


class Keep(NamedTuple):
    """How much of a call is kept: `narrow` says of a tool that its values are not."""

    result_chars: int
    email: bool
    narrow: Callable[[str], bool]


class LineEncoder:
    """Turns items of the queue into journal lines. Used by one thread, the journal's.

    `client` is asked once, at the first line: it walks up the process tree. `unix_minus_monotonic` turns the relay's
    clock into Unix time.
    """

    def __init__(
        self,
        who: Identity,
        keep: Keep,
        *,
        client: Callable[[], str],
        clock: Callable[[], float],
        unix_minus_monotonic: float,
    ) -> None:
        self._who = who
        self._keep = keep
        self._fixed = {"v": JOURNAL_VERSION, "relay": who.relay}
        self._find_client = client
        self._client = ""
        self._clock = clock
        self._offset = unix_minus_monotonic
        self._started = clock()
        self._seq = 0
        self._server_version = ""
        self._client_name = ""

    def __call__(self, item: Any) -> bytes | None:
        """Return the line of `item`, without its newline."""
        self._client = self._client or self._find_client()
        self._seq += 1
        body = self._call(*item) if type(item) is tuple else self._other(item)
        record = {**self._fixed, "seq": self._seq, **body}
        try:
            return orjson.dumps(record)
        except TypeError:
            # Lone surrogates and integers beyond 64 bits: valid JSON that orjson refuses.
            return json.dumps(record, separators=(",", ":")).encode()

    def _call(self, call: Call, reply: Reply, said: Said | None) -> dict[str, Any]:
        narrow = self._keep.narrow(call.tool)
        return {
            "t": "call",
            "at": call.at + self._offset,
            "ms": reply.took_s * 1000,
            "owner": self._who.owner,
            "client": self._client_of(call.task),
            "server": self._who.server,
            "server_version": self._server_version,
            "tool": _redacted(call.tool, NAME_CHARS),
            "arguments": self._arguments(call.arguments, narrow=narrow),
            "digest": call.digest.hex(),
            "grade": reply.grade,
            "kind": reply.kind,
            "result": "" if narrow else self._result(reply.text),
            "task_ref": _task_ref(call.meta) if call.meta else "",
            "client_name": self._client_name,
            "env": self._who.env,
            "said": said and {"channel": said.channel, "lesson": said.lesson},
        }

    def _client_of(self, task: str) -> str:
        # Who connects by HTTP is not the process that started us; its tasks are named after it.
        return task.rpartition(":")[0] if task.startswith(HTTP_CLIENT) else self._client

    def _result(self, text: str) -> str:
        # What is as long as `outcome_of` lets a text be has been cut there.
        keep = self._keep
        return _redacted(text, keep.result_chars, email=keep.email, cut=len(text) >= TEXT_LIMIT_CHARS)

    def _arguments(self, arguments: Mapping[str, Any], *, narrow: bool) -> Any:
        if not arguments:
            return {}
        kept = _canonical(arguments, email=self._keep.email)
        return _narrowed(kept) if narrow else kept

    def _other(self, item: Any) -> dict[str, Any]:
        now = {"at": self._clock(), "server": self._who.server}
        match item:
            case Opening():
                env, pid = self._who.env, self._who.pid
                fixed = {"owner": self._who.owner, "client": self._client, "env": env, "pid": pid}
                return {"t": "relay", **now, **fixed, "started": self._started}
            case ServerNamed(client, server):
                self._server_version = _short(server.get("version"))
                self._client_name = _short(client.get("name"))
                version = _short(client.get("version"))
                return {
                    "t": "server",
                    **now,
                    "server_version": self._server_version,
                    "client_name": self._client_name,
                    "client_version": version,
                }
            case ToolsListed(tools):
                return {"t": "tools", **now, "tools": [_tool(tool) for tool in tools if type(tool) is dict]}
            case Restarted(exit_code):
                return {"t": "boot", **now, "exit_code": exit_code}
            case Ended(evaluated, dropped):
                return {"t": "end", **now, "evaluated": evaluated, "dropped": dropped}
        raise TypeError(type(item).__name__)


def _task_ref(meta: Mapping[str, Any]) -> str:
    ref = client_ref(meta)
    return _redacted(ref, NAME_CHARS, cut=len(ref.partition(":")[2]) >= REF_LIMIT)


def _short(value: object) -> str:
    return _redacted(value, NAME_CHARS) if type(value) is str else ""


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    annotations = tool.get("annotations")
    schema = tool.get("inputSchema")
    return {
        "name": _short(tool.get("name")),
        "input_schema": _schema(schema) if type(schema) is dict else {},
        "output_schema": tool.get("outputSchema") is not None,
        "read_only": type(annotations) is dict and annotations.get("readOnlyHint") is True,
    }


def _narrowed(value: Any) -> Any:
    """Keep the names and the form of arguments, and none of their values."""
    if type(value) is dict:
        return {key: _narrowed(each) for key, each in value.items()}
    if type(value) is list:
        return [_narrowed(each) for each in value]
    return value if value is None or type(value) is bool else NARROWED


def _redacted(text: str, limit: int, *, email: bool = False, cut: bool = False) -> str:
    from rearview_interceptors.redact import redact_text

    return redact_text(text, email=email, limit=limit, cut=cut)


def _canonical(arguments: Mapping[str, Any], *, email: bool) -> Any:
    from rearview_interceptors.redact import canonical

    return canonical(arguments, email=email).value


def _schema(schema: Mapping[str, Any]) -> Any:
    from rearview_interceptors.redact import canonical_schema

    return canonical_schema(schema)
