"""Says, before a call is made or after it failed, how the same kind of call has failed before."""

from collections.abc import Callable

from rearview_interceptors.api import Call, Hint, Hold, Interceptor, Lesson, Reply, Said


class WarnOnKnownFailure(Interceptor):
    """Turns what is known into verdicts.

    `lookup` returns the best lesson that a call meets before it is made, `explain` the best one for a reply that
    failed, and `remember` hears how every call ended. Whether a verdict is spoken (mode, budget, control group) is
    decided by the core, for this interceptor as for any other.
    """

    def __init__(
        self,
        lookup: Callable[[Call], Lesson | None],
        explain: Callable[[Call, Reply], Lesson | None],
        remember: Callable[[Call, Reply], None],
    ) -> None:
        self._lookup = lookup
        self._explain = explain
        self._remember = remember

    def on_request(self, call: Call) -> Hold | None:
        """Hold a call that is loudly known to fail."""
        lesson = self._lookup(call)
        return Hold(lesson) if lesson is not None and lesson.loud else None

    def on_response(self, call: Call, reply: Reply) -> Hint | None:
        """Add what is known to a reply that failed."""
        lesson = self._explain(call, reply)
        return None if lesson is None else Hint(lesson)

    def on_finished(self, call: Call, reply: Reply, said: Said | None) -> None:
        """Remember how the call ended, unless the server never saw it."""
        if said is None or said.channel != "hold":
            self._remember(call, reply)
