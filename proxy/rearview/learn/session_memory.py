"""What one session knows of its own failures, at once and without the learner."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from rearview_interceptors.api import FAILED, Call, Grade, Lesson, Reply

if TYPE_CHECKING:
    from rearview.learn.tool_failures import ToolFailures

MAX_TOOLS = 256

_OK = Grade.OK


class SessionMemory:
    """Remembers the failures of one server's calls until a success says that they are over.

    For each outcome ask `after_failure` first, if it failed, and then tell it by `seen`. A success forgets the same
    call, whatever it shows to work after all, and the loops of its tool; one of a tool that isn't known as read-only
    may have changed what the failures were about, so of these it leaves only wrong arguments, and no longer loud.
    Where more than the arguments decides, the same call is loud after one failure only if it comes at once, with no
    other call in between that may have changed something, even by failing.
    `call.at` is the only clock: failures count for 30 minutes, loops until the task ends. At most 256 tools are
    remembered; the oldest go first. `tools` has what failed, by tool: while it is empty there is nothing to look up.
    """

    __slots__ = ("_events", "_is_read_only", "_task", "tools")

    def __init__(self, is_read_only: Callable[[str], bool]) -> None:
        self._is_read_only = is_read_only
        self._task = ""
        self._events = 0
        self.tools: OrderedDict[str, ToolFailures] = OrderedDict()

    def seen(self, call: Call, reply: Reply) -> None:
        """Take in how a call ended; what is no outcome (held, cancelled, a task handle) forgets and adds nothing."""
        if reply.grade is _OK:
            if self.tools:
                self._succeeded(call)
        elif reply.grade in FAILED:
            self._failed(call, reply)
        elif self.tools and not self._is_read_only(call.tool):
            self._events += 1

    def forget(self) -> None:
        """The server, or the conversation, is a new one: what failed before may work now."""
        self.tools.clear()

    def lookup(self, call: Call) -> Lesson | None:
        """Return what this session says against a call that is about to be made."""
        tool = self.tools.get(call.tool)
        return None if tool is None else tool.lookup(call, self._events)

    def after_failure(self, call: Call, reply: Reply) -> Lesson | None:
        """Return what this session says to a failure: the third of its like in this task, or its cause was known."""
        self._enter(call)
        tool = self.tools.get(call.tool)
        return None if tool is None else tool.explain(call, reply)

    def _enter(self, call: Call) -> None:
        if call.task != self._task:
            self._task = call.task
            for tool in self.tools.values():
                tool.end_of_task()

    def _failed(self, call: Call, reply: Reply) -> None:
        # Not before the first failure: compiling what reads errors takes longer than a relay takes to start.
        from rearview.learn.tool_failures import ToolFailures, recent

        self._enter(call)
        if not self._is_read_only(call.tool):
            self._events += 1
        recent(self.tools, call.tool, ToolFailures, MAX_TOOLS).add(call, reply, self._events)

    def _succeeded(self, call: Call) -> None:
        self._enter(call)
        if not self._is_read_only(call.tool):
            for each in self.tools.values():
                each.something_changed()
        tool = self.tools.get(call.tool)
        if tool is not None:
            tool.clear(call)
        for name in [name for name, each in self.tools.items() if not each]:
            del self.tools[name]
