"""Decides whether a lesson may be spoken: mode, budget, control group, and nothing twice."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from rearview_interceptors.api import Call, Channel, Kind, Lesson

Mode = Literal["observe", "hint", "hold"]

HELD_LIMIT = 256
TASKS_LIMIT = 64
HELD_SECONDS = 1800.0
NEVER_HELD = frozenset({Kind.TRANSIENT, Kind.RATE_LIMITED})
"""The advice for these is to wait, and a held call would only cost another turn."""


class Speaker:
    """Keeps the budget of one relay. One word per pattern and task, `budget` words per task.

    `held` has the calls that were held and not repeated yet: lesson and time by tool and digest.
    """

    def __init__(self, *, control_share: float, budget: int, mode_for: Callable[[str], Mode]) -> None:
        self._control_share = control_share
        self._budget = budget
        self._mode_for = mode_for
        self._patterns: OrderedDict[str, set[str]] = OrderedDict()
        self.held: OrderedDict[tuple[str, bytes], tuple[str, float]] = OrderedDict()
        self._released: OrderedDict[tuple[str, bytes], float] = OrderedDict()

    def judge(self, call: Call, lesson: Lesson, wanted: Literal["hold", "hint"]) -> Channel:
        """Return the channel that `lesson` gets for `call`, and take it off the budget if that is `wanted`."""
        patterns = self._spoken_in(call.task)
        mode = self._mode_for(call.tool)
        if mode == "observe" or (wanted == "hold" and not self._holdable(call, lesson, mode)):
            return "silent"
        if self._in_control(call.task, lesson.id):
            return "control"
        if lesson.id in patterns or len(patterns) >= self._budget:
            return "silent"
        patterns.add(lesson.id)
        return wanted

    def _spoken_in(self, task: str) -> set[str]:
        """Return the patterns that were spoken of in a task. Tasks may take turns: a client has several agents."""
        patterns = self._patterns.setdefault(task, set())
        self._patterns.move_to_end(task)
        if len(self._patterns) > TASKS_LIMIT:
            self._patterns.popitem(last=False)
        return patterns

    def hold(self, call: Call, lesson: Lesson) -> None:
        """Remember that `call` was held, so that its identical repeat goes through."""
        self.held[call.tool, call.digest] = (lesson.id, call.at)
        if len(self.held) > HELD_LIMIT:
            self.held.popitem(last=False)

    def release(self, call: Call) -> str | None:
        """Return the lesson that held this very call before, once; `None` if it was not held or too long ago."""
        lesson, at = self.held.pop((call.tool, call.digest), (None, 0.0))
        if lesson is None:
            return None
        self._released[call.tool, call.digest] = call.at
        if len(self._released) > HELD_LIMIT:
            self._released.popitem(last=False)
        return lesson if call.at - at <= HELD_SECONDS else None

    def _holdable(self, call: Call, lesson: Lesson, mode: Mode) -> bool:
        if mode != "hold" or not lesson.loud or lesson.kind in NEVER_HELD:
            return False
        released = self._released.get((call.tool, call.digest))
        return released is None or call.at - released > HELD_SECONDS

    def _in_control(self, task: str, lesson: str) -> bool:
        if self._control_share <= 0:
            return False
        # Loads OpenSSL, so only a relay that has something to say pays for it.
        from hashlib import blake2b

        draw = blake2b(f"{task}\0{lesson}".encode(), digest_size=8).digest()
        return int.from_bytes(draw, "big") < self._control_share * 2**64
