"""The data contract between relay, learner and reader: journal lines and what they become.

A journal file is UTF-8 JSON lines, one record a line, written by one relay process. Every record has `v` (version of
this contract, 1), `t` (its type), `relay` (id of the relay process), `seq` (counts up from 1 in one relay; `relay`
and `seq` together identify a record for ever) and `at` (Unix time in seconds).

| t      | when                              | further fields |
| relay  | first line of a file              | owner, client, server, env, pid, started |
| server | the server has named itself       | server, server_version, client_name, client_version, modern |
| tools  | a tools/list answer passed        | server, tools: [{name, input_schema, output_schema, read_only}] |
| call   | an exchange is over, or was held  | the fields of `CallRecord` |
| boot   | the server died and was restarted | server, exit_code |
| end    | the relay ends                    | dropped (records lost), evaluated (calls that lessons were tried on) |
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rearview_interceptors.api import Grade, Kind, Lesson, Said

JOURNAL_VERSION = 1


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One finished exchange as journaled: `arguments` are canonical (cut, then redacted); `digest` covers all of them.

    `client` is the key of the client process (`pid-starttime`), `task_ref` what the client itself calls the task
    (`kind:id`, for instance `codex:…`), empty if it does not say. `at` is when the call was seen, `ms` how long the
    server took. `env` holds tags such as `project:<hash>` and `os:linux`. A call that was held (`said.channel` is
    `hold`) never reached the server and has grade `unknown`.
    """

    relay: str
    seq: int
    at: float
    ms: float
    owner: str
    client: str
    server: str
    server_version: str
    tool: str
    arguments: Mapping[str, Any]
    digest: str
    grade: Grade
    kind: Kind | None = None
    result: str = ""
    task_ref: str = ""
    client_name: str = ""
    env: tuple[str, ...] = ()
    said: Said | None = None


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """What `tools/list` said of one tool; `input_schema` is JSON Schema."""

    name: str
    input_schema: Mapping[str, Any]
    output_schema: bool = False
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The calls of one task in time order. `trace_id` is stable: the same calls give the same id."""

    trace_id: str
    owner: str
    client: str
    steps: tuple[CallRecord, ...]
    created_at: float
    ended_at: float
    env: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class ScopedLesson:
    """A lesson and whose it is; `env` names the environment tag that it is bound to, empty for any."""

    owner: str
    server: str
    tool: str
    lesson: Lesson
    env: str = ""
