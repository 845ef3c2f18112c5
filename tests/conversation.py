"""A session without files around it, and messages to put through it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rearview.app import slim
from rearview.core.calls import CallDesk, Reading, Spoken
from rearview.core.session import Session
from rearview.core.speaking import Mode, Speaker
from rearview.core.task import TaskClock
from rearview.learn.failure import outcome_of
from rearview.learn.openings import quote_opens_plainly
from rearview_interceptors import Call, Condition, Hint, Hold, Interceptor, Kind, Lesson, Reply, Said
from rearview_interceptors.chain import Chain


def lesson(name: str = "l1", *, loud: bool = True, kind: Kind = Kind.ARGUMENT) -> Lesson:
    return Lesson(name, Condition.LACK, "lack:path", "path", kind, 3, 3, 1.7e9, 0.9, loud)


@dataclass
class Advisor(Interceptor):
    """Speaks as it is told, and keeps what it hears."""

    before: Callable[[Call], Lesson | None] = lambda _: None
    after: Callable[[Call, Reply], Lesson | None] = lambda *_: None
    heard: list[tuple[Call, Reply, Said | None]] = field(default_factory=list)

    def on_request(self, call: Call) -> Hold | None:
        found = self.before(call)
        return Hold(found) if found else None

    def on_response(self, call: Call, reply: Reply) -> Hint | None:
        found = self.after(call, reply)
        return Hint(found) if found else None

    def on_finished(self, call: Call, reply: Reply, said: Said | None) -> None:
        self.heard.append((call, reply, said))

    @property
    def said(self) -> list[str | None]:
        return [said and said.channel for _, _, said in self.heard]


class PlainWords:
    """Says the lesson's id."""

    def held(self, lesson: Lesson, call: Call) -> Spoken:
        return Spoken(f"held {lesson.id}", {"id": lesson.id})

    def hint(self, lesson: Lesson, call: Call) -> Spoken:
        return Spoken(f"hint {lesson.id}", {"id": lesson.id})


@dataclass
class Notes:
    """Keeps what a session observes."""

    servers: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=list)
    tools: list[list[Any]] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)

    def on_server(self, client: Mapping[str, Any], server: Mapping[str, Any]) -> None:
        self.servers.append((client, server))

    def on_tools(self, tools: list[Any]) -> None:
        self.tools.append(tools)

    def on_restart(self, exit_code: int) -> None:
        self.restarts.append(exit_code)


def plain_digest(tool: str, arguments: Mapping[str, Any]) -> bytes:
    return repr((tool, sorted(arguments.items(), key=repr))).encode("utf-8", "surrogatepass")


def conversation(
    advisor: Advisor | None = None,
    *,
    notes: Notes | None = None,
    control_share: float = 0.0,
    budget: int = 3,
    mode: Mode = "hold",
    may_wait: bool = False,
) -> Session:
    desk = CallDesk(
        "files",
        Chain([advisor] if advisor else [], lambda: 0.0, lambda *_: None),
        Speaker(control_share=control_share, budget=budget, mode_for=lambda _: mode),
        voice=PlainWords(),
        reading=Reading(
            plain_digest,
            outcome_of,
            quote_opens_plainly,
            () if may_wait else ("something",),
            TaskClock("t", 300.0),
            slim,
        ),
        tools={},
    )
    return Session(lambda: (desk, notes or Notes()))


def line(body: Any) -> bytes:
    return json.dumps(body).encode() + b"\n"


def call_line(message_id: Any = 1, tool: str = "read", arguments: Any = None, **more: Any) -> bytes:
    params = {"name": tool, "arguments": {"file": "a"} if arguments is None else arguments, **more}
    return line({"jsonrpc": "2.0", "id": message_id, "method": "tools/call", "params": params})


def result_line(message_id: Any = 1, text: str = "ok", **more: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": message_id, "result": {"content": [{"type": "text", "text": text}], **more}})
