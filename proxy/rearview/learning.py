"""Puts hindsight together: tasks that are over become trajectories, their votes evidence, the evidence lessons."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection

from rearview.config import Config
from rearview.errors import StoreError
from rearview.intake import Round
from rearview.learn.model import Trajectory
from rearview.learn.segment import SETTLE_SECONDS, Surroundings, Task, root_of, segment, trajectory_of
from rearview.lesson_making import Place, ballot_of, count_votes, make_lessons
from rearview.log import place_of
from rearview.store import ledger_hindsight, ledger_retention
from rearview.store.ledger import Ledger
from rearview.store.ledger_hindsight import Mark
from rearview.store.processes import gone_clients

LEARN_SECONDS = 1.0


class Hindsight:
    """Learns from the tasks that are over. What can't be learned is marked so and never tried again."""

    def __init__(self, ledger: Ledger, config: Config, log: Any) -> None:
        self.unpublished = True
        """Whether the table that relays read may differ from the ledger; true at first, for a crash in between."""
        self.behind = False
        """Whether tasks that are over still wait."""
        self._ledger = ledger
        self._config = config
        self._log = log
        self._live: frozenset[str] = frozenset()
        self._clients: frozenset[str] = frozenset()
        self._due = float("-inf")
        self._touched: dict[Place, None] = {}

    def learn(self, now: float, seen: Round, *, all_ended: bool = False, settle: bool = True) -> int:
        """Learn from tasks that are over by `now`, the oldest first, and return how many there were.

        Stops when it took a second, so that what was learned so far is published; `behind` then tells to call again.

        Raises:
            StoreError: the ledger can't be used; tasks that were not learned yet come again.
        """
        # A relay that starts a new journal file holds none for an instant, so it is dead only the second time.
        live = seen.live | self._live if settle else seen.live
        gone = gone_clients(self._clients)
        if not (seen.lines or gone or all_ended or self.behind or now > self._due or live != seen.live):
            return 0
        # Until all is done: if the store fails on the way, nothing may be forgotten.
        self.behind = True
        with self._ledger.reading() as connection:
            marks = ledger_hindsight.marks(connection)
            lives = ledger_hindsight.lives(connection, {mark.relay for mark in marks}, live)
        self._live = seen.live
        # A live relay vouches for its client: seen from another container, all other processes look gone.
        self._clients = frozenset(mark.client for mark in marks) - {mark.client for mark in marks if mark.relay in live}
        around = Surroundings(
            now, lives, gone_clients(self._clients), self._config.tasks.idle_gap_s,
            SETTLE_SECONDS if settle else 0.0, all_ended,
        )  # fmt: skip
        tasks = segment(marks, around)
        self._due = min((task.due for task in tasks if not task.finished), default=float("inf"))
        return self._learn_some([task for task in tasks if task.finished], now)

    def tidy(self, now: float) -> None:
        """Delete what is too old, and make all lessons anew, because evidence fades although nothing happens."""
        limits = ledger_retention.Limits(self._config.ledger.calls_days, self._config.ledger.evidence_days)
        with self._ledger.writing() as connection:
            gone = ledger_retention.prune(connection, now, limits)
            places = [Place(*each) for each in ledger_hindsight.tools_with_evidence(connection)]
        if gone:
            self._log.info("ledger.pruned", **gone)
        self._remake(places, now)

    def _learn_some(self, tasks: Sequence[Task[Mark]], now: float) -> int:
        until, learned = time.monotonic() + LEARN_SECONDS, 0
        for task in sorted(tasks, key=lambda each: each.steps[-1].at):
            self._touched.update(dict.fromkeys(self._learn_one(task, now)))
            learned += 1
            if time.monotonic() > until:
                break
        self._remake(tuple(self._touched), now)
        self._touched.clear()
        self.behind = learned < len(tasks)
        return learned

    def _learn_one(self, task: Task[Mark], now: float) -> list[Place]:
        with self._ledger.reading() as connection:
            trajectory = trajectory_of(ledger_hindsight.calls_at(connection, task.steps))
            root = _root(connection, trajectory)
        try:
            with self._ledger.reading() as connection:
                ballot = ballot_of(connection, trajectory, root, self._config)
            with self._ledger.writing() as connection:
                # The votes and the mark that they were counted are one transaction: neither is ever there alone.
                count_votes(connection, ballot)
                ledger_hindsight.close(connection, trajectory, root, now)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - one task that nobody foresaw must not stop the others
            name = type(error).__name__
            self._log.error("trajectory.failed", trace_id=trajectory.trace_id, error=name, at=place_of(error))
            with self._ledger.writing() as connection:
                ledger_hindsight.close(connection, trajectory, root, now, error=name)
            return []
        self._log.info(
            "trajectory.learned", trace_id=trajectory.trace_id, owner=trajectory.owner, calls=len(trajectory.steps),
            follows=root if root != trajectory.trace_id else "", votes=len(ballot.votes),
        )  # fmt: skip
        return ballot.places

    def _remake(self, places: Iterable[Place], now: float) -> None:
        for place in places:
            try:
                with self._ledger.writing() as connection:
                    changes, reasons = make_lessons(connection, place, self._config, now)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - nor may one tool; its old lessons stay
                name = type(error).__name__
                self._log.error("lessons.failed", **place._asdict(), error=name, at=place_of(error))
                continue
            self.unpublished |= bool(changes)
            for what, names in (("born", changes.born), ("changed", changes.changed), ("gone", changes.gone)):
                for name in names:
                    self._log.info(f"lesson.{what}", lesson=name, **place._asdict(), **reasons.get(name, {}))


def _root(connection: Connection, trajectory: Trajectory) -> str:
    """Name what the trajectory votes for: a task of which calls come late has voted already."""
    first = trajectory.steps[0]
    if not first.task_ref:
        end = trajectory.steps[-1].at
        known = ledger_hindsight.root_around(connection, first.owner, first.client, first.at, end)
        if known is not None:
            return known
    return root_of(first.owner, first.client, first.task_ref, trajectory.trace_id)
