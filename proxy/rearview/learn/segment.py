"""Cuts the calls of client processes into tasks, and says which of the tasks are over.

Calls of all relays of one client process join one task, in time order, whatever order their journals arrive in. What
the client itself calls the task (`task_ref`) decides where there is one; a call without one joins the task that its
client was busy with. Else a task is what one client process does without an idle gap, and without all the relays that
took part having ended in between.

A call that turns up after its task was learned (a journal that was read late) can't change what was learned: it
becomes a follow-up trajectory with the same *root*, and a root has one vote. `root_of` names it for tasks with a
`task_ref`; for the others the caller looks for a learned trajectory whose time the late call falls into.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from rearview.learn.model import CallRecord, Trajectory

SETTLE_SECONDS = 0.3
"""How long a task that an event has ended stays open, because relays do not write in the same moment."""

MOST_STEPS = 2_000
"""A task with more calls is cut, so that no client that never rests keeps a task open for ever."""


class Timed(Protocol):
    """What cutting needs to know of a call; `CallRecord` has it."""

    @property
    def relay(self) -> str: ...  # noqa: D102 - the fields of `CallRecord`, so too below
    @property
    def seq(self) -> int: ...  # noqa: D102
    @property
    def at(self) -> float: ...  # noqa: D102
    @property
    def ms(self) -> float: ...  # noqa: D102
    @property
    def owner(self) -> str: ...  # noqa: D102
    @property
    def client(self) -> str: ...  # noqa: D102
    @property
    def task_ref(self) -> str: ...  # noqa: D102


R = TypeVar("R", bound=Timed)


@dataclass(frozen=True, slots=True)
class RelayLife:
    """What is known of a relay process. `ended_at` is None if it left no `end` record: it lives, or it was killed."""

    started: float
    last_sign: float
    ended_at: float | None = None
    live: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything besides the calls that decides whether a task is over. A relay that is not in `relays` is dead."""

    now: float
    relays: Mapping[str, RelayLife] = field(default_factory=dict)
    gone_clients: frozenset[str] = frozenset()
    idle_gap_s: float = 300.0
    settle_s: float = SETTLE_SECONDS
    all_ended: bool = False


@dataclass(frozen=True, slots=True)
class Task(Generic[R]):
    """The calls of one task in time order. `due` is the latest time at which it is over if nothing else happens."""

    steps: tuple[R, ...]
    finished: bool
    due: float


@dataclass(slots=True)
class _Draft(Generic[R]):
    ref: str
    steps: list[R] = field(default_factory=list)
    relays: set[str] = field(default_factory=set)
    quiet_since: float = 0.0
    parted: bool = False

    def add(self, call: R) -> None:
        self.steps.append(call)
        self.relays.add(call.relay)
        self.quiet_since = max(self.quiet_since, call.at + call.ms / 1000)


def segment(records: Iterable[R], around: Surroundings) -> tuple[Task[R], ...]:
    """Cut `records`, which come in any order, into tasks; the oldest task of each client first."""
    ordered = sorted(records, key=lambda each: (each.owner, each.client, each.at, each.relay, each.seq))
    tasks: list[Task[R]] = []
    for (_, client), calls in groupby(ordered, key=lambda each: (each.owner, each.client)):
        drafts = _cut(calls, around)
        tasks += [_judged(draft, drafts, client in around.gone_clients, around) for draft in drafts]
    return tuple(tasks)


def root_of(owner: str, client: str, task_ref: str, trace_id: str) -> str:
    """Name what a trajectory votes for: all trajectories of one `task_ref` of one client together have one vote."""
    return _name("root", owner, client, task_ref) if task_ref else trace_id


def trajectory_of(steps: Sequence[CallRecord]) -> Trajectory:
    """Make the trajectory of the calls of one task, which are not empty and in time order."""
    first = steps[0]
    return Trajectory(
        trace_id=trace_id_of(first),
        owner=first.owner,
        client=first.client,
        steps=tuple(steps),
        created_at=first.at,
        ended_at=max(step.at + step.ms / 1000 for step in steps),
        env=tuple(sorted({tag for step in steps for tag in step.env})),
    )


def trace_id_of(first: Timed) -> str:
    """Name the trajectory that begins with this call; the same calls give the same name."""
    return _name("trace", first.owner, first.client, first.relay, str(first.seq))


def _name(*parts: str) -> str:
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(joined, digest_size=16).hexdigest()


def _cut(calls: Iterable[R], around: Surroundings) -> list[_Draft[R]]:
    drafts: list[_Draft[R]] = []
    by_ref: dict[str, _Draft[R]] = {}
    current: _Draft[R] | None = None
    for call in calls:
        draft = by_ref.get(call.task_ref) if call.task_ref else current
        if draft is not None and _parts(draft, call, around):
            draft.parted = True
            draft = None
        if draft is None:
            draft = _Draft(call.task_ref)
            drafts.append(draft)
        if call.task_ref:
            by_ref[call.task_ref] = draft
        draft.add(call)
        current = draft
    return drafts


def _parts(draft: _Draft[R], call: R, around: Surroundings) -> bool:
    """Tell whether `call` is too far from the task to belong to it."""
    if len(draft.steps) >= MOST_STEPS or call.at - draft.quiet_since > around.idle_gap_s:
        return True
    if call.task_ref:
        return False
    newcomer = around.relays.get(call.relay)
    return all(_left_before(around.relays.get(relay), call, newcomer) for relay in draft.relays)


def _left_before(life: RelayLife | None, call: Timed, newcomer: RelayLife | None) -> bool:
    if life is not None and life.ended_at is not None:
        return life.ended_at <= call.at
    if life is None or life.live:
        return False
    # Nobody wrote down when a killed relay died, so only a relay that started after its last sign tells.
    return newcomer is not None and newcomer is not life and life.last_sign <= newcomer.started


def _judged(draft: _Draft[R], drafts: Sequence[_Draft[R]], client_gone: bool, around: Surroundings) -> Task[R]:
    idle_at = draft.quiet_since + around.idle_gap_s
    due = min(idle_at, _superseded_at(draft, drafts, around), _deserted_at(draft, around))
    finished = around.all_ended or client_gone or draft.parted or around.now > due
    return Task(tuple(draft.steps), finished, due)


def _superseded_at(draft: _Draft[R], drafts: Sequence[_Draft[R]], around: Surroundings) -> float:
    """Return when the first task that the client named differently, and began later, ended this one."""
    last = draft.steps[-1].at
    begun = [each.steps[0].at for each in drafts if each.ref and each.ref != draft.ref and each.steps[0].at > last]
    return min(begun) + around.settle_s if begun else float("inf")


def _deserted_at(draft: _Draft[R], around: Surroundings) -> float:
    """Return when the last relay that took part was gone."""
    latest = draft.quiet_since
    for relay in draft.relays:
        life = around.relays.get(relay)
        if life is not None and life.ended_at is not None:
            latest = max(latest, life.ended_at)
        elif life is not None and life.live:
            return float("inf")
    return latest + around.settle_s
