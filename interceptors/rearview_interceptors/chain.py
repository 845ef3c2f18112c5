"""Asks the interceptors in their order, and keeps the conversation safe from them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from rearview_interceptors.api import Call, Hint, Hold, Interceptor, Lesson, Reply, Said

LATE_SECONDS = 0.002
FAILURES_TO_OFF = 3
LATE_TO_REPORT = 3
LATE_TO_OFF = 10


class _Watched:
    """One interceptor and how it behaved so far."""

    __slots__ = ("failures", "late_in_row", "name", "ours", "reported", "subject")

    def __init__(self, subject: Interceptor, *, ours: bool) -> None:
        self.subject = subject
        self.ours = ours
        self.name = type(subject).__qualname__
        self.failures = 0
        self.late_in_row = 0
        self.reported: set[str] = set()


_Hooks = tuple[tuple[Callable[..., Any], _Watched], ...]


class Chain:
    """The interceptors in their order, `ours` first; the first verdict wins, and the ones behind it are not asked.

    An interceptor that raises, or answers with anything but `None` or the hook's own verdict, is passed over; the
    third failure switches it off. One that takes more than 2 ms keeps its verdict; ten late answers in a row switch
    it off (in a row, because a busy machine makes anybody late now and then). Off lasts as long as the process. A
    hook that an interceptor does not override costs nothing. Those in `ours` have bounds of their own and are not
    timed: on a machine that is busy for a while, capture would end with it.
    `KeyboardInterrupt` goes through: it is the user's.

    `on_request(call)` returns the first hold, or `None`: the call goes on. `on_response(call, reply)` returns the first
    hint, or `None`: the reply stays as it is. `on_finished(call, reply, said)` tells everybody that the call is over.

    `report` hears, once per interceptor, `interceptor.failed` (first failure), `interceptor.late` (third late answer
    in a row) and `interceptor.off`; whatever it raises is ignored. `clock` is monotonic and in seconds.
    """

    __slots__ = ("_all", "_clock", "_report", "on_finished", "on_request", "on_response")

    def __init__(
        self,
        interceptors: Sequence[Interceptor],
        clock: Callable[[], float],
        report: Callable[[str, dict[str, Any]], None],
        ours: Sequence[Interceptor] = (),
    ) -> None:
        self._all = [_Watched(interceptor, ours=True) for interceptor in ours]
        self._all += [_Watched(interceptor, ours=False) for interceptor in interceptors]
        self._clock = clock
        self._report = report
        self._bind()

    def _bind(self) -> None:
        self.on_request: Callable[[Call], Hold | None] = self._asking("on_request", Hold)
        self.on_response: Callable[[Call, Reply], Hint | None] = self._asking("on_response", Hint)
        self.on_finished: Callable[[Call, Reply, Said | None], None] = self._asking("on_finished", None)

    def _asking(self, hook: str, wanted: type | None) -> Callable[..., Any]:
        """Return what asks everybody about one hook; where only we have it, that is our own hook itself."""
        hooks = self._overriding(hook)
        if not hooks:
            return _nobody
        if all(watched.ours for _, watched in hooks):
            if len(hooks) == 1:
                return hooks[0][0]
            if hook == "on_finished":
                return _both(*(bound for bound, _ in hooks))
        return partial(self._ask, hooks, wanted)

    def _overriding(self, hook: str) -> _Hooks:
        found = []
        for watched in self._all:
            bound = getattr(watched.subject, hook, None)
            if bound is not None and getattr(bound, "__func__", None) is not getattr(Interceptor, hook):
                found.append((bound, watched))
        return tuple(found)

    def _ask(self, hooks: _Hooks, wanted: type | None, *facts: object) -> Any:
        for hook, watched in hooks:
            verdict = None
            try:
                verdict = hook(*facts) if watched.ours else self._timed(hook, watched, facts)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - also SystemExit: a stranger may not end the conversation
                self._failed(watched, type(error).__name__)
            if verdict is None or wanted is None:
                continue
            if isinstance(verdict, wanted) and isinstance(getattr(verdict, "lesson", None), Lesson):
                return verdict
            self._failed(watched, f"returned {type(verdict).__name__}")
        return None

    def _timed(self, hook: Callable[..., Any], watched: _Watched, facts: tuple[object, ...]) -> Any:
        before = self._clock()
        try:
            return hook(*facts)
        finally:
            took = self._clock() - before
            if took > LATE_SECONDS:
                self._late(watched, took)
            else:
                watched.late_in_row = 0

    def _failed(self, watched: _Watched, error: str) -> None:
        watched.failures += 1
        self._tell("interceptor.failed", watched, {"error": error})
        if watched.failures >= FAILURES_TO_OFF:
            self._switch_off(watched, "failures")

    def _late(self, watched: _Watched, took: float) -> None:
        watched.late_in_row += 1
        if watched.late_in_row >= LATE_TO_REPORT:
            self._tell("interceptor.late", watched, {"ms": round(took * 1000, 1)})
        if watched.late_in_row >= LATE_TO_OFF:
            self._switch_off(watched, "late")

    def _switch_off(self, watched: _Watched, why: str) -> None:
        if watched in self._all:
            self._all.remove(watched)
            self._bind()
            self._tell("interceptor.off", watched, {"why": why})

    def _tell(self, event: str, watched: _Watched, fields: dict[str, Any]) -> None:
        if event not in watched.reported:
            watched.reported.add(event)
            with suppress(Exception):
                self._report(event, {"interceptor": watched.name, **fields})


def _nobody(*_facts: object) -> None:
    """Nobody has this hook."""


def _both(first: Callable[..., object], *rest: Callable[..., object]) -> Callable[..., None]:
    """Return a function that tells all of them; the usual two without a loop, since this happens for every call."""
    second = rest[0] if len(rest) == 1 else _both(*rest)

    def tell(call: Call, reply: Reply, said: Said | None) -> None:
        first(call, reply, said)
        second(call, reply, said)

    return tell
