"""What is wrong with a state folder, each in one line that says what to do."""

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rearview.cli.render import clock, counted, one_line
from rearview.config import Config
from rearview.errors import StoreError
from rearview.store.background import is_running
from rearview.store.lessons import LessonsTable
from rearview.store.state import StateFolder

if TYPE_CHECKING:
    from rearview.store.ledger import Ledger

RECENT_SECONDS = 86_400.0
SHOWN_PROBLEMS = 5
READ_LINES = 200
READ_BYTES = 256 * 1024
LEARNER_LOG = "learner.log"
SHOWN_CHARS = 300
NOT_LOADED = "interceptor.not_loaded"
# Non-blocking: a pipe in the place of a file would stop whoever opens it.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
NOT_FACTS = frozenset({"at", "event", "exception", "level", "pid", "timestamp"})


def problems_of(state: StateFolder, ledger: "Ledger", config: Config, now: float) -> list[str]:
    """Return what is wrong, the most serious first; empty when all is well."""
    found = [
        ledger.healthy(),
        _table(state),
        _dropped(ledger, config.owner),
        _unreadable(ledger),
        _failed(ledger, config),
    ]
    told = [problem for problem in found if problem]
    told += _misplaced(state)
    return told + _not_loaded(state, config, now) + _logged(state, now) + _reported(state, now)


def learner_state(state: StateFolder, config: Config) -> str:
    """Say whether the learner runs, and if not, why that is no reason to worry."""
    if is_running(state):
        return "running in the background"
    if not config.learner.enabled:
        return "switched off ([learner] enabled = false); this command has learned what is over"
    return "not running; this command has learned what is over"


def _table(state: StateFolder) -> str:
    if not state.lessons.exists():
        return ""
    try:
        LessonsTable.open(state.lessons).close()
    except StoreError as error:
        return f"{error} Relays say nothing until `mcp-rearview learn` writes a new one."
    return ""


def _dropped(ledger: "Ledger", owner: str) -> str:
    dropped = ledger.counts(owner).dropped
    if not dropped:
        return ""
    calls = f"{counted(dropped, 'call')} {'was' if dropped == 1 else 'were'} not written down"
    return f"{calls} because the disk was too slow: raise [journal] queue_records"


def _unreadable(ledger: "Ledger") -> str:
    lines = ledger.unreadable_lines()
    return f"{counted(lines, 'line')} of journals could not be read and were passed over" if lines else ""


def _failed(ledger: "Ledger", config: Config) -> str:
    failed = ledger.counts(config.owner).trajectories_failed
    return f"{counted(failed, 'task')} could not be learned from: please report it, with learner.log" if failed else ""


def _not_loaded(state: StateFolder, config: Config, now: float) -> list[str]:
    """Which of the user's interceptors the last relay to try could not load, as far as they are still named."""
    found: dict[str, str] = {}
    for body in _last_lines(state.problems):
        name, at = body.get("name"), _unix(body.get("at"))
        if body.get("event") == NOT_LOADED and name in config.interceptors and now - at <= RECENT_SECONDS:
            reason = one_line(str(body.get("reason", "no reason given")), SHOWN_CHARS)
            found[str(name)] = (
                f"the interceptor {name} could not be loaded ({reason}; {clock(at)}): "
                "correct or install it, or take it out of `interceptors` in the configuration"
            )
    return list(found.values())


def _reported(state: StateFolder, now: float) -> list[str]:
    """What relays have left behind within a day, each event once, the newest last."""
    found: dict[str, str] = {}
    for body in _last_lines(state.problems):
        event, at = str(body.get("event", "problem")), _unix(body.get("at"))
        if event == NOT_LOADED or now - at > RECENT_SECONDS:
            continue
        found.pop(event, None)
        found[event] = f"a relay reported {event} ({clock(at)}){_facts(body)}"
    return list(found.values())[-SHOWN_PROBLEMS:]


def _logged(state: StateFolder, now: float) -> list[str]:
    """What the learner has logged as an error within a day, each event once."""
    found: dict[str, str] = {}
    for body in _last_lines(state.root / LEARNER_LOG):
        event, at = str(body.get("event", "error")), _moment(body.get("timestamp"))
        if body.get("level") in ("error", "critical") and now - at <= RECENT_SECONDS:
            found[event] = f"the learner reported {event} ({clock(at)}){_facts(body)}"
    return list(found.values())[-SHOWN_PROBLEMS:]


def _last_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what the last lines of a file say; nothing where something else is in its place."""
    try:
        handle = os.open(path, _READ)
    except OSError:
        return
    try:
        here = os.fstat(handle)
        if not stat.S_ISREG(here.st_mode):
            return
        lines = os.pread(handle, READ_BYTES, max(0, here.st_size - READ_BYTES)).splitlines()[-READ_LINES:]
    finally:
        os.close(handle)
    for line in lines:
        try:
            body = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(body, dict):
            yield body


def _misplaced(state: StateFolder) -> list[str]:
    """What stands where a log should be and can't be read as one."""
    found = []
    for path in (state.problems, state.root / LEARNER_LOG):
        with suppress(OSError):
            if not stat.S_ISREG(path.lstat().st_mode):
                found.append(f"{path} is no plain file, so nothing can be read from it: delete it")
    return found


def _facts(body: Mapping[str, Any]) -> str:
    facts = [f"{name}: {value}" for name, value in body.items() if name not in NOT_FACTS]
    return one_line(f": {', '.join(facts)}", SHOWN_CHARS) if facts else ""


def _unix(at: object) -> float:
    return float(at) if isinstance(at, int | float) else 0.0


def _moment(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0
