"""Starts the learner in the background when none is running; part of the relay, so the standard library only.

The process that is started is not our child for long: it forks once more, puts itself into a session of its own and
ends at once, so that the learner belongs to the system and survives us. Who reaps the short-lived one: `reap`, which
`ensure_learner` calls first thing each time, without waiting; whatever it misses goes to the system when we end.
"""

import fcntl
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from rearview.log import report
from rearview.store.state import StateFolder

_BOOTSTRAP = """
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
# Before the imports, which take a second of a processor that a relay may share. Ten, because at nineteen, or with
# SCHED_IDLE, a busy machine would let it starve, and nobody would hear a warning.
os.nice(10)
sys.path += {folders!r}
try:
    from rearview.learner import main
except ImportError as error:
    # Nobody would ever hear of it: standard error leads nowhere.
    with open({problem!r}, "a") as file:
        file.write(str(error) + chr(10))
    raise
sys.exit(main({arguments!r}))
"""
_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR")
_PASSED_PREFIXES = ("REARVIEW_", "XDG_")

SHORTEST_GAP_SECONDS = 2.0
LONGEST_GAP_SECONDS = 300.0
_CALM_SECONDS = 60.0

_started: set[int] = set()
_reported: set[str] = set()


class Pace:
    """When the next learner may be started: one that ends at once (a ledger of a newer version) costs ever less."""

    __slots__ = ("_gap", "_last", "not_before")

    def __init__(self) -> None:
        self.not_before = float("-inf")
        self._last = float("-inf")
        self._gap = SHORTEST_GAP_SECONDS

    def start(self, now: float) -> None:
        """Note that one is started at `now`."""
        hasty = now - self._last < max(_CALM_SECONDS, 2 * self._gap)
        self._gap = min(2 * self._gap, LONGEST_GAP_SECONDS) if hasty else SHORTEST_GAP_SECONDS
        self._last, self.not_before = now, now + self._gap


_pace = Pace()


def ensure_learner(state: StateFolder, config_path: Path | None, environ: Mapping[str, str] | None = None) -> bool:
    """Start a learner for this state folder unless one holds its lock, and return whether one was started.

    Never raises and never waits; cheap enough to be called once a second. Starts that follow each other within a minute
    come ever later, at most five minutes apart. A start that fails (a sandbox that forbids processes) is reported once;
    the next command or relay catches up. Two that ask at once may both start one: the learner's own lock leaves one.
    """
    reap()
    now = time.monotonic()
    if now < _pace.not_before or is_running(state):
        return False
    _pace.start(now)
    arguments = ["--state", str(state.root)]
    if config_path is not None:
        arguments += ["--config", str(config_path.absolute())]
    try:
        _started.add(_spawn(state, arguments, os.environ if environ is None else environ))
    except (OSError, ValueError) as error:
        if "spawn" not in _reported:
            _reported.add("spawn")
            report("learner.not_started", {"reason": str(error), "what_now": "the next command catches up"})
        return False
    return True


def is_running(state: StateFolder) -> bool:
    """Tell whether a learner holds the lock of this state folder."""
    try:
        handle = os.open(state.lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        # Shared, so that those who only look do not look like a learner to each other.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def reap() -> None:
    """Collect those of our short-lived starters that have ended, without waiting for the others."""
    for pid in tuple(_started):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _started.discard(pid)


def _spawn(state: StateFolder, arguments: list[str], environ: Mapping[str, str]) -> int:
    problem = str(state.root / "learner.log")
    code = _BOOTSTRAP.format(folders=_package_folders(), arguments=arguments, problem=problem)
    # posix_spawn has no way to name a folder, so the learner itself goes to "/" before it does anything else.
    with open(os.devnull, "r+b") as nowhere:  # noqa: PTH123 - a device, not a path of ours
        null = nowhere.fileno()
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-c", "import os; os.chdir('/')" + code],
            {name: value for name, value in environ.items() if _is_passed(name)},
            file_actions=[(os.POSIX_SPAWN_DUP2, null, each) for each in (0, 1, 2)],
            setsigmask=(),
            setsigdef=(),
        )


def _package_folders() -> list[str]:
    """Return the folders to import us and what we need from, for installs that `-I` would not find.

    They are appended, so that no module there hides one of the standard library.
    """
    names = ("rearview", "rearview_interceptors", "orjson")
    files = [getattr(sys.modules.get(name), "__file__", None) for name in names]
    folders = [str(Path(file).absolute().parent.parent) for file in files if file]
    return list(dict.fromkeys(folders))


def _is_passed(name: str) -> bool:
    return name in _PASSED_ON or name.startswith(_PASSED_PREFIXES)
