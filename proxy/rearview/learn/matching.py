"""The hot path: which of the lessons known of a tool is true of this call; `conditions` has what a key means."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from rearview.learn.facets import MAX_KEYS, Facets
from rearview.learn.lookups import Pending, SchemaOf, ToolLookups
from rearview.learn.model import ScopedLesson
from rearview.learn.names import names_in
from rearview.learn.quick import quick_free_text, walk
from rearview_interceptors.api import Call, Condition, Lesson

Clock = Callable[[], float]
"""A steady clock in seconds."""

WATCHDOG_SECONDS = 0.002
CUT = "$cut"
"""The key of what stands for a value that was cut; arguments that have it themselves are read as one such value."""

_ORDER = (
    Condition.EXACT,
    Condition.VALUE,
    Condition.NAME,
    Condition.KEY,
    Condition.LACK,
    Condition.SCHEMA,
    Condition.PATTERN,
    Condition.CLASS,
    Condition.SHAPE,
    Condition.TOOL,
)
_SPECIFIC = {condition: place for place, condition in enumerate(_ORDER)}


def precedence(lesson: Lesson) -> tuple[bool, float, int, str, str]:
    """Sort key, best lesson first: loud, then the highest score, then the most specific condition."""
    return (not lesson.loud, -lesson.score, _SPECIFIC.get(lesson.condition, len(_ORDER)), lesson.key, lesson.id)


class Matcher:
    """The lessons of one tool, compiled once.

    Inside, a lesson is its rank: its place among the lessons, the best first. `clock` is for the watchdog, which gives
    up after 2 ms of reading names or nested arguments; without a clock there is none. Without a schema, no lesson about
    values that it does not list is true of any call.
    """

    __slots__ = ("_clock", "_known", "_lessons", "evaluated", "gave_up")

    def __init__(
        self,
        lessons: Iterable[ScopedLesson],
        env: Collection[str] = frozenset(),
        clock: Clock | None = None,
        schema: SchemaOf = lambda: None,
    ) -> None:
        self._lessons = sorted((s.lesson for s in lessons if not s.env or s.env in env), key=precedence)
        self._clock = clock
        self._known = ToolLookups((lesson.key for lesson in self._lessons), schema)
        self.evaluated = 0
        self.gave_up = 0

    def match(self, call: Call) -> Lesson | None:
        """Return the best lesson that is true of the call."""
        self.evaluated += 1
        hits = self._hits(call, every=False)
        return self._lessons[min(hits)] if hits else None

    def match_all(self, call: Call, limit: int = 100) -> list[Lesson]:
        """Return the lessons that are true of the call, the best first; for explanations, not for the hot path."""
        return [self._lessons[rank] for rank in sorted(set(self._hits(call, every=True)))[:limit]]

    def _hits(self, call: Call, *, every: bool) -> list[int]:
        """Return ranks of lessons that are true of the call; of those that lack a key only the best, unless `every`."""
        known, arguments = self._known, call.arguments
        hits = known.always.copy()
        if known.exact:
            hits += known.exact.get(call.digest, ())
        if known.top is not None:
            known.top.read(arguments, hits, every=every)
        if known.reads_values:
            before = len(hits)
            if len(arguments) > MAX_KEYS or CUT in arguments or not self._flat(arguments, hits, every=every):
                del hits[before:]
                if not self._nested(arguments, hits, every=every):
                    return []
        return hits

    def _flat(self, arguments: Mapping[str, Any], hits: list[int], *, every: bool) -> bool:
        """Look up arguments that hold no objects and lists, without a list of leaves; false if they do."""
        known = self._known
        pending: list[Pending] = []
        texts: list[str] = []
        paths, named = known.paths, known.names
        for path, value in arguments.items():
            kind = type(value)
            if kind is dict or kind is list:
                return False
            if path in paths:
                paths[path].read(value, hits, pending)
            if named and kind is str and quick_free_text(value) and path:
                texts.append(value)
        if known.shapes is not None:
            hits += known.shapes.of_flat(arguments)
        if known.lacks is not None:
            known.lacks.read_flat(arguments, hits, every=every)
        if pending:
            _read_pending(pending, arguments, hits)
        if texts:
            self._read_names(texts, hits, self._deadline())
        return True

    def _nested(self, arguments: Mapping[str, Any], hits: list[int], *, every: bool) -> bool:
        """Look up any arguments; false when there is too much to read."""
        known, deadline = self._known, self._deadline()
        nodes = walk(arguments)
        if nodes is None or self._is_late(deadline):
            self.gave_up += 1
            return False
        pending: list[Pending] = []
        texts: list[str] = []
        for path, value, is_leaf in nodes:
            lookups = known.paths.get(path)
            if lookups is not None:
                if is_leaf:
                    lookups.read(value, hits, pending)
                else:
                    lookups.read_container(value, hits)
            if is_leaf and known.names and type(value) is str and quick_free_text(value):
                texts.append(value)
        if known.shapes is not None:
            hits += known.shapes.of_nested(arguments, [path for path, _, is_leaf in nodes if is_leaf])
        if known.lacks is not None:
            known.lacks.read(Facets(arguments), hits, every=every)
        if pending:
            _read_pending(pending, arguments, hits)
        self._read_names(texts, hits, deadline)
        return True

    def _read_names(self, texts: Sequence[str], hits: list[int], deadline: float) -> None:
        """Look up the names in texts; those that the watchdog leaves unread hold nothing."""
        known = self._known
        for text in texts:
            if self._is_late(deadline):
                self.gave_up += 1
                return
            if known.name_filter.may_hold(text):
                for name in known.names.keys() & names_in(text).names:
                    hits += known.names[name]

    def _deadline(self) -> float:
        return self._clock() + WATCHDOG_SECONDS if self._clock is not None else 0.0

    def _is_late(self, deadline: float) -> bool:
        return self._clock is not None and self._clock() > deadline


def _read_pending(pending: Iterable[Pending], arguments: Mapping[str, Any], hits: list[int]) -> None:
    values = Facets(arguments).values
    hits += [rank for rank, parts in pending if all(part in values for part in parts)]
