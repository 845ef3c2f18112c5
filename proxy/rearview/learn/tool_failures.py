"""The failures of one tool in one session: by call, by what its errors named, and by error."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from rearview.learn.blake2 import blake2b
from rearview.learn.conditions import field_of, named_by
from rearview.learn.facets import Facets
from rearview.learn.kinds import OUTSIDE_DECIDES
from rearview.learn.matching import Matcher
from rearview.learn.model import ScopedLesson
from rearview.learn.template import template_of
from rearview_interceptors.api import Call, Condition, Grade, Kind, Lesson, Reply

K = TypeVar("K")
V = TypeVar("V")

MAX_DIGESTS = 256
MAX_NAMED = 64
MAX_LOOPS = 64
KEEP_SECONDS = 1800.0
LOOP_FAILURES = 3
LOUD_FAILURES = 2
# Less than an agent takes to change a file by itself, which nobody tells us of, and to call again.
AT_ONCE_SECONDS = 5.0

# How often a repeat failed again in recorded runs, rounded down.
_EXACT_SCORE = 0.97
_NAMED_SCORE = 0.9

_NOT_FORESEEABLE = frozenset({Kind.TRANSIENT, Kind.RATE_LIMITED, Kind.ENVIRONMENT})
_ONLY_THE_SAME_CALL = _NOT_FORESEEABLE | {Kind.EMPTY}


class _Failures:
    """How often something failed, why, and when last; `certain` if any of it was more than a text that reads so.

    `ended` and `events` tell when the last failure was answered, and how much had happened in the session by then.
    """

    __slots__ = ("at", "certain", "ended", "events", "kind", "number")

    def __init__(self) -> None:
        self.certain = False
        self.number = 0
        self.kind = Kind.OTHER
        self.at = self.ended = 0.0
        self.events = 0

    def add(self, kind: Kind, at: float) -> None:
        self.number += 1
        self.kind = kind
        self.at = at


class ToolFailures:
    """What failed and is not over yet. At most 256 calls, 64 named causes and 64 errors; the oldest go first."""

    __slots__ = ("_exact", "_loops", "_matcher", "_named")

    def __init__(self) -> None:
        self._exact: OrderedDict[bytes, _Failures] = OrderedDict()
        self._named: OrderedDict[str, _Failures] = OrderedDict()
        self._loops: OrderedDict[str, _Failures] = OrderedDict()
        self._matcher: Matcher | None = None

    def __bool__(self) -> bool:
        return bool(self._exact or self._named or self._loops)

    def lookup(self, call: Call, events: int) -> Lesson | None:
        """Return what is known against a call: that it failed itself, or that a cause named by an error is in it.

        `events` counts what happened in the session and may have changed the world.
        """
        known = self._exact.get(call.digest)
        if known is not None and call.at - known.at <= KEEP_SECONDS:
            key = f"{Condition.EXACT}:{call.digest.hex()}"
            ident = _ident("exact", call.tool, key)
            loud = _is_loud(call, known, events)
            if not loud and (named := self._by_name(call)) is not None and named.loud:
                return named
            return _lesson(ident, Condition.SESSION_EXACT, key, known.kind, known.number, _EXACT_SCORE, loud=loud)
        return self._by_name(call)

    def explain(self, call: Call, reply: Reply) -> Lesson | None:
        """Return what is known of a failure that is not added yet: the third of its like, or its cause was known."""
        kind = reply.kind or Kind.OTHER
        template = template_of(reply.text, call.arguments)
        loop = self._loops.get(template)
        if loop is not None and loop.number >= LOOP_FAILURES - 1:
            ident = _ident("loop", call.tool, template)
            return _lesson(ident, Condition.SESSION_LOOP, "", kind, loop.number + 1, _NAMED_SCORE, loud=False)
        return None if kind in _ONLY_THE_SAME_CALL else self._by_name(call)

    def add(self, call: Call, reply: Reply, events: int) -> None:
        """Remember a failure; `events` counts what happened in the session, this failure included."""
        kind = reply.kind or Kind.OTHER
        recent(self._loops, template_of(reply.text, call.arguments), _Failures, MAX_LOOPS).add(kind, call.at)
        if kind in _NOT_FORESEEABLE:
            return
        failures = recent(self._exact, call.digest, _Failures, MAX_DIGESTS)
        failures.add(kind, call.at)
        failures.certain |= reply.grade is not Grade.SOFT
        failures.ended, failures.events = call.at + reply.took_s, events
        if kind in _ONLY_THE_SAME_CALL:
            return
        for key in named_by(reply.text, Facets(call.arguments), kind):
            recent(self._named, key, _Failures, MAX_NAMED).add(kind, call.at)
            self._matcher = None

    def clear(self, call: Call) -> None:
        """Forget what a call of this tool that worked shows to be over."""
        self._exact.pop(call.digest, None)
        self._loops.clear()
        if self._named:
            for met in self._compiled(call).match_all(call, MAX_NAMED):
                del self._named[met.key]
                self._matcher = None

    def end_of_task(self) -> None:
        """Forget the loops."""
        self._loops.clear()

    def something_changed(self) -> None:
        """Forget what may be otherwise by now; wrong arguments stay wrong, but are no longer loud."""
        self._exact.clear()
        if self._named:
            self._matcher = None
            for key in [key for key, failures in self._named.items() if failures.kind is not Kind.ARGUMENT]:
                del self._named[key]
            for failures in self._named.values():
                failures.number = 1

    def _by_name(self, call: Call) -> Lesson | None:
        if not self._named:
            return None
        found = self._compiled(call).match(call)
        return found if found is not None and call.at - self._named[found.key].at <= KEEP_SECONDS else None

    def _compiled(self, call: Call) -> Matcher:
        if self._matcher is None:
            lessons = [_named_lesson(call.tool, key, known) for key, known in self._named.items()]
            self._matcher = Matcher(ScopedLesson("", call.server, call.tool, lesson) for lesson in lessons)
        return self._matcher


def recent(table: OrderedDict[K, V], key: K, make: Callable[[], V], limit: int) -> V:
    """Return the entry of a key, a new one if there is none, as the newest of at most so many."""
    entry = table.get(key)
    if entry is None:
        entry = table[key] = make()
        if len(table) > limit:
            table.popitem(last=False)
    table.move_to_end(key)
    return entry


def _is_loud(call: Call, known: _Failures, events: int) -> bool:
    if known.kind is Kind.EMPTY or known.number >= LOUD_FAILURES:
        return known.kind is not Kind.EMPTY
    if not call.arguments or not known.certain:
        # Without arguments nothing in it can be wrong, and what only reads like a failure may be a success.
        return False
    unchanged = known.events == events and call.at - known.ended <= AT_ONCE_SECONDS
    return unchanged or known.kind not in OUTSIDE_DECIDES


def _named_lesson(tool: str, key: str, known: _Failures) -> Lesson:
    ident = _ident("named", tool, key)
    loud = known.number >= LOUD_FAILURES
    return _lesson(ident, Condition.SESSION_GROUNDED, key, known.kind, known.number, _NAMED_SCORE, loud=loud)


def _lesson(ident: str, condition: Condition, key: str, kind: Kind, number: int, score: float, *, loud: bool) -> Lesson:
    field = field_of(key) if condition is Condition.SESSION_GROUNDED else ""
    # No Unix time: a session has no clock but that of its calls, and what it knows is of today.
    return Lesson(ident, condition, key, field, kind, number, number, 0.0, score, loud)


def _ident(what: str, tool: str, key: str) -> str:
    """Return an id that is the same each time, so that one thing is said once."""
    text = "\0".join((what, tool, key)).encode("utf-8", "surrogatepass")
    return "s" + blake2b(text, digest_size=8).hexdigest()
