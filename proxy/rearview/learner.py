"""The learner process: reads journals, cuts them into tasks, learns from those that are over, and tells the relays."""

import argparse
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from rearview.config import Config, load
from rearview.errors import RearviewError, StoreError
from rearview.intake import Intake
from rearview.learning import Hindsight
from rearview.log import LogFile, learner_log, place_of, report
from rearview.store.journal_reader import is_live, journal_files
from rearview.store.learner_lock import LearnerLock, acquire
from rearview.store.ledger import Ledger, open_ledger, publish
from rearview.store.ledger_file import CorruptLedger
from rearview.store.state import StateFolder, open_state, state_root

POLL_SECONDS = 0.5
HOUSEKEEPING_SECONDS = 3600.0
_MOST_BACKOFF_SECONDS = 30.0
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Learner:
    """Works on one state folder. `round` does what there is to do now; `run` does that until it is no longer needed."""

    def __init__(self, state: StateFolder, config: Config, log: Any, clock: Callable[[], float] = time.time) -> None:
        self._state = state
        self._config = config
        self._log = log
        self._clock = clock
        self._tidied_at = float("-inf")
        self._open()

    def close(self) -> None:
        """Let go of the ledger."""
        self._ledger.close()

    def round(self, *, all_ended: bool = False, settle: bool = True) -> bool:
        """Take in journals, learn from the tasks that are over, publish; True if there was anything, or anybody, new.

        `all_ended` takes every task as over, and without `settle` those that an event has just ended, too.

        Raises:
            StoreError: the ledger or the table can't be used now; nothing is lost, the next round goes on.
        """
        now = self._clock()
        seen = self._intake.read_all(patient=settle)
        learned = self._hindsight.learn(now, seen, all_ended=all_ended, settle=settle)
        if now - self._tidied_at >= HOUSEKEEPING_SECONDS:
            self._hindsight.tidy(now)
            self._tidied_at = now
        if self._hindsight.unpublished:
            count = publish(self._ledger, self._state)
            self._hindsight.unpublished = False
            self._log.info("lessons.published", lessons=count)
        return bool(seen.calls or learned or seen.live)

    @property
    def behind(self) -> bool:
        """Whether there is more to do at once."""
        return self._hindsight.behind

    def run(self, lock: LearnerLock, pause: Callable[[float], bool]) -> str:
        """Go on until nobody needs us, a newer version wants to work, or `pause` says that we were told to end."""
        busy_at, backoff = time.monotonic(), POLL_SECONDS
        while not lock.is_lost():
            try:
                if self.round():
                    busy_at = time.monotonic()
                backoff = POLL_SECONDS
            except CorruptLedger:
                self._ledger.close()
                self._open()
            except StoreError as error:
                self._hindsight.behind = True
                self._log.warning("store.unusable", reason=str(error), again_in_s=backoff)
                backoff = min(2 * backoff, _MOST_BACKOFF_SECONDS)
            if lock.must_leave():
                return "a newer version takes over"
            if time.monotonic() - busy_at > self._config.learner.idle_exit_s:
                return "idle"
            if pause(0 if self.behind and backoff == POLL_SECONDS else backoff):
                return "told to end"
        return "the state folder is gone"

    def _open(self) -> None:
        self._ledger: Ledger = open_ledger(self._state, repair=self._say, clock=self._clock)
        self._intake = Intake(self._ledger, self._state.journal, self._log)
        self._hindsight = Hindsight(self._ledger, self._config, self._log)

    def _say(self, event: str, fields: Any) -> None:
        self._log.error(event, **fields)
        report(event, fields)


def main(argv: Sequence[str] | None = None, version: str | None = None) -> int:
    """Run the learner as a process; 0 also if another one is at work already."""
    options = _parser().parse_args(argv)
    os.umask(0o077)
    try:
        state = open_state(options.state or state_root(os.environ))
    except RearviewError as error:
        report("learner.failed", {"reason": str(error)})
        return 1
    target = LogFile(state.root / "learner.log")
    log = learner_log(target)
    try:
        return _work(state, options, log, version or our_version())
    except RearviewError as error:
        # In the background nobody sees standard error.
        log.error("learner.failed", reason=str(error))  # noqa: TRY400 - the reason says it all
        report("learner.failed", {"reason": str(error)})
        return 1
    except Exception as error:
        log.error("learner.failed", error=type(error).__name__, at=place_of(error))  # noqa: TRY400 - see `place_of`
        raise
    finally:
        target.close()


def our_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return installed_version("mcp-rearview")
    except PackageNotFoundError:
        return "0"


def catch_up(state: StateFolder, config: Config, *, all_ended: bool = False, wait_s: float = 2.0) -> bool:
    """Learn in this process what is over by now, and return whether that was done here.

    A learner that is at work already does it instead: it is given `wait_s` to come to the end of the journals whose
    relays have ended. For `all_ended`, which it would not do, it has to leave first.

    Raises:
        StoreError: the ledger can't be used.
    """
    lock = acquire(state, our_version(), hurry=all_ended)
    if lock is None:
        until = time.monotonic() + wait_s
        while time.monotonic() < until and not all(is_live(path) for path in journal_files(state.journal)):
            time.sleep(POLL_SECONDS / 10)
        return False
    target = LogFile(state.root / "learner.log")
    try:
        _drain(Learner(state, config, learner_log(target)), all_ended=all_ended)
    finally:
        target.close()
        lock.release()
    return True


def _work(state: StateFolder, options: argparse.Namespace, log: Any, version: str) -> int:
    config = load(options.config, None, os.environ)
    lock = acquire(state, version)
    if lock is None:
        return 0
    try:
        learner = Learner(state, config, log)
        if options.once:
            _drain(learner, all_ended=options.all)
            return 0
        log.info("learner.started", version=version)
        with _signals() as pause:
            reason = learner.run(lock, pause)
        log.info("learner.ended", reason=reason)
        learner.close()
    finally:
        lock.release()
    return 0


def _drain(learner: Learner, *, all_ended: bool) -> None:
    try:
        learner.round(all_ended=all_ended, settle=False)
        while learner.behind:
            learner.round(all_ended=all_ended, settle=False)
    finally:
        learner.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mcp-rearview-learner", description="Learns from the journals of a state folder, in the background."
    )
    parser.add_argument("--state", type=Path, help="the state folder (default: where relays keep it)")
    parser.add_argument("--config", type=Path, help="the configuration (default: the user's)")
    parser.add_argument("--once", action="store_true", help="learn from the tasks that are over, then end")
    parser.add_argument("--all", action="store_true", help="with --once: take every task as over")
    return parser


@contextmanager
def _signals() -> Iterator[Callable[[float], bool]]:
    """Let TERM and INT end a pause instead of the process; gives the function that pauses and says if one came."""
    told: list[int] = []
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    # A signal that comes between two pauses is still in the pipe at the next one.
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handlers = {each: signal.signal(each, lambda number, _: told.append(number)) for each in _ENDING_SIGNALS}

    def pause(seconds: float) -> bool:
        select.select([reader], [], [], 0 if told else seconds)
        return bool(told)

    try:
        yield pause
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
