"""Typed differences between a call that failed and the call that then worked."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from rearview.learn.conditions import field_of, parse
from rearview.learn.model import CallRecord, Trajectory
from rearview.learn.repairs import repairs
from rearview.learn.steps import Schemas, Step, blamed_keys, environment_of, steps_of
from rearview_interceptors.api import Condition, Fix, FixAction, Kind

MAX_DISTANCE = 5
MAX_FIXES_KEPT = 40
MIN_CALL_FIRST = 2

_ACTIONS: frozenset[str] = frozenset(get_args(FixAction))
_ORDER: tuple[FixAction, ...] = (
    "rename", "type", "prefix", "convert", "add", "drop", "known_name", "call_first", "wait",
)  # fmt: skip
_WAITED = frozenset({Kind.TRANSIENT, Kind.RATE_LIMITED})


@dataclass(frozen=True, slots=True)
class FixVote:
    """In one trajectory, a call that met the condition `key` failed and worked after this change."""

    owner: str
    server: str
    tool: str
    env: str
    key: str
    kind: Kind
    fix: Fix
    at: float


def fixes_of(trajectory: Trajectory, schemas: Schemas) -> list[FixVote]:
    """Return what made failed calls work: at most one vote for each condition and fix, in a fixed order.

    A failed call is compared with the next success of the same tool, at most five calls later and with similar
    arguments.
    """
    steps = steps_of(trajectory, schemas)
    votes: dict[tuple[str, str, str, Fix], FixVote] = {}
    for index, failed in enumerate(steps):
        found = _recovery(failed, steps[index + 1 : index + 1 + MAX_DISTANCE]) if failed.failed else None
        if found is None:
            continue
        good, between = found
        for fix, keys in _answers(failed, good, between):
            for key, env in keys:
                record = failed.record
                kind = record.kind or Kind.OTHER
                vote = FixVote(record.owner, record.server, record.tool, env, key, kind, fix, good.record.at)
                votes[(record.server, record.tool, key, fix)] = vote
    return list(votes.values())


def _recovery(failed: Step, later: list[Step]) -> tuple[Step, list[Step]] | None:
    for index, step in enumerate(later):
        if step.place == failed.place and not step.failed:
            return (step, later[:index]) if _similar(failed.record, step.record) else None
    return None


def _similar(failed: CallRecord, good: CallRecord) -> bool:
    """Whether the second call looks like another try at the first, and not like another piece of work."""
    before, after = failed.arguments, good.arguments
    shared = before.keys() & after.keys()
    changed = sum(before[key] != after[key] for key in shared)
    alone = len(before.keys() - shared) + len(after.keys() - shared)
    same = len(shared) - changed
    return same >= changed or changed + alone <= max(1, same) + 1 or not shared


def _answers(failed: Step, good: Step, between: list[Step]) -> Iterator[tuple[Fix, list[tuple[str, str]]]]:
    blamed = [(key, environment_of(failed.record, key)) for key in blamed_keys(failed)]
    cleared = [(key, env) for key, env in blamed if not good.meets(key)]
    changed = failed.record.digest != good.record.digest
    if changed:
        for fix in repairs(failed.record.arguments, good.record.arguments, failed.facets, [key for key, _ in cleared]):
            keys = [(key, env) for key, env in cleared if _concerns(key, fix)]
            if keys:
                yield fix, keys
        return
    if failed.record.kind in _WAITED:
        yield Fix("wait"), blamed
        return
    helpers = [
        step.place[1]
        for step in between
        if not step.failed and step.place[0] == failed.place[0] and step.place != failed.place
    ]
    if helpers:
        yield Fix("call_first", "", helpers[-1]), blamed


def _concerns(key: str, fix: Fix) -> bool:
    parsed = parse(key)
    if parsed is None:
        return False
    if parsed.condition in {Condition.EXACT, Condition.SHAPE, Condition.NAME}:
        return parsed.condition is not Condition.NAME or fix.action == "known_name"
    fields = {field_of(key).partition(".")[0].replace("[]", ""), *(path for path, _ in parsed.parts), field_of(key)}
    return fix.field in fields or (fix.action == "rename" and fix.to in fields)


def merge_fixes(known: Iterable[Fix], votes: Iterable[FixVote]) -> tuple[Fix, ...]:
    """Add the votes of one condition to the fixes known for it; best first, at most forty are kept."""
    counts = {replace(fix, trajectories=0): fix.trajectories for fix in known}
    for vote in votes:
        fix = replace(vote.fix, trajectories=0)
        counts[fix] = counts.get(fix, 0) + 1
    found = [replace(fix, trajectories=count) for fix, count in counts.items()]
    return tuple(sorted(found, key=_rank)[:MAX_FIXES_KEPT])


def _rank(fix: Fix) -> tuple[int, int, str, str]:
    return -fix.trajectories, _ORDER.index(fix.action), fix.field, fix.to


def worth_saying(fixes: Iterable[Fix], read_only: frozenset[str] = frozenset()) -> tuple[Fix, ...]:
    """The fixes that a lesson may carry: another tool first only if it helped twice, or if it is read-only."""
    return tuple(
        fix for fix in fixes if fix.action != "call_first" or fix.trajectories >= MIN_CALL_FIRST or fix.to in read_only
    )


def fix_votes_by_condition(votes: Iterable[FixVote]) -> dict[tuple[str, str, str, str, str], list[FixVote]]:
    """Sort votes by the row that they belong to: owner, server, tool, env, key."""
    found: dict[tuple[str, str, str, str, str], list[FixVote]] = {}
    for vote in votes:
        found.setdefault((vote.owner, vote.server, vote.tool, vote.env, vote.key), []).append(vote)
    return found


def fixes_to_json(fixes: Iterable[Fix]) -> list[dict[str, Any]]:
    """Plain JSON for the ledger."""
    return [{"action": fix.action, "field": fix.field, "to": fix.to, "trajectories": fix.trajectories} for fix in fixes]


def fixes_from_json(body: Iterable[Mapping[str, Any]]) -> tuple[Fix, ...]:
    """Read back what `fixes_to_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    found = []
    for item in body:
        if item["action"] not in _ACTIONS:
            message = f"not a fix: {item['action']}"
            raise ValueError(message)
        found.append(Fix(item["action"], str(item["field"]), str(item["to"]), int(item["trajectories"])))
    return tuple(found)
