"""What one relay knows at the moment of a call: the lessons of all earlier tasks, and this session's own memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from rearview.learn.matching import Matcher
from rearview.learn.model import ScopedLesson
from rearview.learn.session_memory import SessionMemory
from rearview_interceptors.api import Call, Lesson, Reply

TOOLS_LIMIT = 4096
REFRESH_SECONDS = 1.0


class Lessons(Protocol):
    """The lessons table as a relay sees it; neither method raises."""

    def refresh(self, now: float, /) -> bool:
        """Look for a new table, at most once a second of `now`; tell whether there is one."""
        ...

    def for_tool(self, owner: str, server: str, tool: str, /) -> Sequence[ScopedLesson]:
        """Return the lessons of one tool."""
        ...


class Tally:
    """Counts the calls that lessons were tried on, for all who share it."""

    __slots__ = ("evaluated",)

    def __init__(self) -> None:
        self.evaluated = 0


class Knowledge:
    """Answers `lookup` and `explain` for one server; `memory` has to see how every call ended."""

    def __init__(
        self,
        lessons: Lessons,
        owner: str,
        server: str,
        env: Sequence[str],
        is_read_only: Callable[[str], bool],
        clock: Callable[[], float],
        schema_of: Callable[[str], Mapping[str, Any] | None] = lambda _: None,
    ) -> None:
        self.tally = Tally()
        self._lessons = lessons
        self._owner = owner
        self._server = server
        self._env = tuple(env)
        self._clock = clock
        self._schema_of = schema_of
        self._refresh_at = float("-inf")
        self._matchers: dict[str, Matcher | None] = {}
        self.memory = SessionMemory(is_read_only)

    def lookup(self, call: Call) -> Lesson | None:
        """Return the best lesson that `call` meets: this session's own first, then the loudest and surest."""
        if call.at >= self._refresh_at:
            self._refresh_at = call.at + REFRESH_SECONDS
            if self._lessons.refresh(call.at):
                self._matchers.clear()
        tool = call.tool
        try:
            matcher = self._matchers[tool]
        except KeyError:
            matcher = self._matchers[tool] = self._compile(tool)
        own = self.memory.lookup(call) if self.memory.tools else None
        if matcher is None:
            return own
        self.tally.evaluated += 1
        known = matcher.match(call)
        if own is None or (known is not None and known.loud and not own.loud):
            return known
        return own

    def explain(self, call: Call, reply: Reply) -> Lesson | None:
        """Return the best lesson for a call that just failed: the loop that it closes, or what is known of it."""
        return self.memory.after_failure(call, reply) or self._known(call)

    def _known(self, call: Call) -> Lesson | None:
        matcher = self._matchers.get(call.tool)
        return None if matcher is None else matcher.match(call)

    def _compile(self, tool: str) -> Matcher | None:
        if len(self._matchers) >= TOOLS_LIMIT:
            # Names that a client made up; real servers have a few hundred tools.
            self._matchers.clear()
        found = self._lessons.for_tool(self._owner, self._server, tool)
        return Matcher(found, self._env, self._clock, lambda: self._schema_of(tool)) if found else None
