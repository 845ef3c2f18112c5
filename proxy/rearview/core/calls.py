"""Everything about `tools/call`: reads the call, asks the chain, and gives a verdict its form on the wire."""

from collections.abc import Callable, Mapping, Sized
from typing import Any, NamedTuple, Protocol

from rearview.core.inject import HINT_LIMIT_BYTES, held_result, with_hint
from rearview.core.message import JsonObject
from rearview.core.speaking import Speaker
from rearview.core.task import TaskClock, client_ref
from rearview_interceptors.api import FAILED, Call, Grade, Kind, Lesson, Reply, Said
from rearview_interceptors.chain import Chain

MODERN_KEY = "io.modelcontextprotocol/protocolVersion"
"""Stands in the `_meta` of every request from 2026-07-28 on, and in none before."""

KEPT_BACK = 64
"""So many finished calls are told of together at most."""

LARGE_BYTES = 4 * 2**10
"""A longer request is cut before it is remembered: a queue of whole ones would hold megabytes."""

_OF_RETRIES = ("requestState", "inputResponses")
InFlight = Mapping[Any, object]
Outcome = Callable[[JsonObject], tuple[Grade, Kind | None, str]]
_Over = tuple[Call, bytes, int, float]
Digest = Callable[[str, Mapping[str, Any]], bytes]
# What a named tuple's own constructor does, without the Python function around it: it is made for every call.
_tuple = tuple.__new__
_NOTHING: Mapping[str, Any] = {}
_OK = Grade.OK
_HELD = Reply(Grade.UNKNOWN, None, "", 0, 0.0)


class Spoken(NamedTuple):
    """The words for one lesson, and the same content for machines (under our `_meta` key)."""

    text: str
    meta: Mapping[str, Any]


class Voice(Protocol):
    """Puts a lesson into words. Returns `None` when it has none, so that nothing is said."""

    def held(self, lesson: Lesson, call: Call) -> Spoken | None:
        """Return what to say instead of making the call."""
        ...

    def hint(self, lesson: Lesson, call: Call) -> Spoken | None:
        """Return what to say beside the failure."""
        ...


class ToolFacts(NamedTuple):
    """What this session's `tools/list` said of one tool."""

    schema: Mapping[str, Any] | None
    has_output_schema: bool
    read_only: bool


class Reading(NamedTuple):
    """What is read of a call: its digest, the outcome that a reply states, and the task that it belongs to.

    `is_plain` says of the inside of a JSON string that a reply which is this text and nothing else is a success for
    sure. While `remembered` is empty, a success changes nothing about what would be said of the next call. `slim`
    returns a large call as it is kept: digest made, large values cut.
    """

    digest: Digest
    outcome: Outcome
    is_plain: Callable[[bytes], bool]
    remembered: Sized
    tasks: TaskClock
    slim: Callable[[Call], Call]


class CallDesk:
    """Judges the calls of one session. It never changes a message itself; it returns the bytes that replace one.

    `tools` has what `tools/list` said; `said` what was said of a call that is on its way, by its `id()`.
    """

    def __init__(
        self,
        server: str,
        chain: Chain,
        speaker: Speaker,
        *,
        voice: Voice,
        reading: Reading,
        tools: dict[str, ToolFacts],
    ) -> None:
        self.server = server
        self.chain = chain
        self.speaker = speaker
        self.voice = voice
        self.tools = tools
        self.said: dict[int, Said] = {}
        self._digest, self._outcome, self.is_plain, self._remembered, self._tasks, self._slim = reading
        self._over: list[_Over] = []
        self._task = ""
        self._last_call = float("-inf")

    def request(
        self, message_id: Any, body: JsonObject, size: int, now: float, in_flight: InFlight | None
    ) -> Call | bytes | None:
        """Return the call that goes to the server, our own answer if it is held, or `None` if it can't be read.

        Without `in_flight`, the requests that have no answer yet, it is never held: a part of a batch.
        """
        params = body.get("params")
        if type(params) is not dict:
            return None
        tool = params.get("name")
        arguments = params.get("arguments", _NOTHING)
        if type(tool) is not str or (arguments is not _NOTHING and type(arguments) is not dict):
            return None
        meta = params.get("_meta", _NOTHING)
        if meta is not _NOTHING and type(meta) is not dict:
            meta = _NOTHING
        if now - self._last_call > self._tasks.gap_s:
            self._task = self._tasks.next_task()
        self._last_call = now
        task = (client_ref(meta) or self._task) if meta else self._task
        modern = MODERN_KEY in meta
        seal = self._sealed(tool, arguments, params) if modern and _is_retry(params) else self._digest
        call: Call = _tuple(Call, (message_id, self.server, tool, arguments, seal, now, task, modern, meta))
        if self.speaker.held:
            repeated = self.speaker.release(call)
            if repeated is not None:
                self.said[id(call)] = Said("repeat", repeated)
                return call
        verdict = self.chain.on_request(call)
        if verdict is None:
            return call if size < LARGE_BYTES else self._slim(call)
        may_hold = in_flight is not None and _may_hold(params, call, in_flight)
        return self._held(call, verdict.lesson, may_hold) or call

    def _sealed(self, tool: str, arguments: Mapping[str, Any], params: JsonObject) -> bytes:
        """Return the digest of a retry: how it ends depends on what came with it, so it is no other call's repeat."""
        return self._digest(tool, {**arguments, "": [params.get(name) for name in _OF_RETRIES]})

    def _held(self, call: Call, lesson: Lesson, may_hold: bool) -> bytes | None:
        channel = self.speaker.judge(call, lesson, "hold") if may_hold else "silent"
        spoken = self.voice.held(lesson, call) if channel == "hold" else None
        if spoken is None:
            self.said[id(call)] = Said("silent" if channel == "hold" else channel, lesson.id)
            return None
        self.speaker.hold(call, lesson)
        self.settle()
        self.chain.on_finished(call, _HELD, Said("hold", lesson.id))
        return held_result(call.id, spoken.text, modern=call.modern, meta=spoken.meta)

    def reply(self, call: Call, body: JsonObject, line: bytes, now: float, may_hint: bool) -> bytes | None:
        """Return the reply with a hint in it, or `None` when it stays as it is."""
        if self._over:
            self.settle()
        grade, kind, text = self._outcome(body)
        reply: Reply = _tuple(Reply, (grade, kind, text, len(line), now - call.at))
        hinted = None
        if grade is not _OK and grade in FAILED and may_hint and len(line) <= HINT_LIMIT_BYTES:
            hinted = self._hinted(call, reply, body, line)
        self.chain.on_finished(call, reply, self.said.pop(id(call), None) if self.said else None)
        return hinted

    def succeeded(self, call: Call, quote: bytes, size: int, now: float) -> None:
        """Take in a reply that is one text and nothing else, and whose text `is_plain`.

        While no success matters at once, such calls are kept back for `settle`: many of them, one after the other, cost
        a fraction of what each costs between two messages, where nothing is left in the processor's caches.
        """
        over = self._over
        over.append((call, quote, size, now))
        if self.said or len(over) >= KEPT_BACK or self._remembered:
            said = self.said.pop(id(call), None) if self.said else None
            self._settle(over, said)

    @property
    def unsettled(self) -> bool:
        """Whether there is something for `settle` to do."""
        return bool(self._over)

    def settle(self) -> None:
        """Tell the chain of the calls that were kept back. Call it when nothing else happens."""
        if self._over:
            self._settle(self._over, None)

    def _settle(self, over: list[_Over], last_said: Said | None) -> None:
        self._over = []
        last = len(over) - 1
        for place, (call, quote, size, now) in enumerate(over):
            reply: Reply = _tuple(Reply, (_OK, None, quote, size, now - call.at))
            self.chain.on_finished(call, reply, last_said if place == last else None)

    def _hinted(self, call: Call, reply: Reply, body: JsonObject, line: bytes) -> bytes | None:
        verdict = self.chain.on_response(call, reply)
        if verdict is None or _is_task(body):
            return None
        lesson = verdict.lesson
        channel = self.speaker.judge(call, lesson, "hint")
        spoken = self.voice.hint(lesson, call) if channel == "hint" else None
        changed = None
        if spoken is not None:
            facts = self.tools.get(call.tool)
            schema = facts is not None and facts.has_output_schema
            changed = with_hint(line, body, spoken.text, has_output_schema=schema)
        if changed is not None:
            self.said[id(call)] = Said("hint", lesson.id)
        else:
            self.said.setdefault(id(call), Said("control" if channel == "control" else "silent", lesson.id))
        return changed

    def lost(self, call: Call, now: float) -> None:
        """Report a call whose server died under it."""
        self._finish(call, now, Grade.HARD, Kind.TRANSIENT, "the server ended before it answered")

    def unanswered(self, call: Call, now: float) -> None:
        """Report a call that was cancelled, or was still open when the conversation ended: not an outcome."""
        self._finish(call, now, Grade.UNKNOWN, None, "")

    def _finish(self, call: Call, now: float, grade: Grade, kind: Kind | None, text: str) -> None:
        self.settle()
        self.chain.on_finished(call, Reply(grade, kind, text, 0, now - call.at), self.said.pop(id(call), None))

    def learn_tools(self, tools: list[Any]) -> None:
        """Note the schemas of a `tools/list` answer (or of one page of it)."""
        for tool in tools:
            if type(tool) is dict and type(tool.get("name")) is str:
                schema, annotations = tool.get("inputSchema"), tool.get("annotations")
                read_only = type(annotations) is dict and annotations.get("readOnlyHint") is True
                self.tools[tool["name"]] = ToolFacts(
                    schema if type(schema) is dict else None, tool.get("outputSchema") is not None, read_only
                )


def _is_retry(params: JsonObject) -> bool:
    """Tell whether a request answers an `input_required` result (2026-07-28)."""
    return "requestState" in params or "inputResponses" in params


def _may_hold(params: JsonObject, call: Call, in_flight: InFlight) -> bool:
    """Tell whether a plain result is a right answer to this request.

    Not for one that asked for a task (2025-11-25), nor for the retry of an `input_required` answer (2026-07-28), nor
    while the same call is on its way.
    """
    if ("task" in params and not call.modern) or _is_retry(params):
        return False
    return not any(
        isinstance(other, Call) and other.tool == call.tool and other.digest == call.digest
        for other in in_flight.values()
    )


def _is_task(body: JsonObject) -> bool:
    result = body.get("result")
    return type(result) is dict and ("task" in result or result.get("resultType", "complete") != "complete")
