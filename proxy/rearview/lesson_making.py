"""Adds the votes of one trajectory to the evidence in the ledger, and makes one tool's lessons of its evidence."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection

from rearview.config import Config
from rearview.learn.evidence import (
    Evidence,
    Row,
    Vote,
    by_condition,
    evidence_from_json,
    evidence_to_json,
    merge,
    votes_of,
)
from rearview.learn.fixes import (
    FixVote,
    fix_votes_by_condition,
    fixes_from_json,
    fixes_of,
    fixes_to_json,
    merge_fixes,
    worth_saying,
)
from rearview.learn.lessonset import MAX_FIXES, Options, lessons_of
from rearview.learn.model import ScopedLesson, Trajectory
from rearview.learn.outcomes import outcomes_of
from rearview.learn.reliability import Cell, Table, default_table, table_from_json, table_to_json
from rearview.learn.segment import trajectory_of
from rearview.learn.steps import steps_of
from rearview.store import ledger_hindsight, ledger_lessons
from rearview.store import ledger_schema as db
from rearview.store.ledger_hindsight import Scope
from rearview.store.ledger_lessons import Changes
from rearview_interceptors.api import Fix

EVIDENCE_REMEMBERED = 20_000


class Place(NamedTuple):
    """One tool of one server, of one owner."""

    owner: str
    server: str
    tool: str


class Ballot(NamedTuple):
    """What one trajectory says: about which tools, for and against which conditions, what helped, what was right."""

    places: list[Place]
    votes: list[Vote]
    fixes: list[FixVote]
    outcomes: list[tuple[Cell, bool]]


def ballot_of(connection: Connection, trajectory: Trajectory, root: str, config: Config) -> Ballot:
    """Return what a trajectory votes for; only reads, because thinking takes longer than others want to wait.

    A condition that another trajectory of the same root has voted on already gets no second vote.
    """
    owner = trajectory.owner
    tools = sorted({(step.server, step.tool) for step in trajectory.steps})
    schemas = ledger_hindsight.schemas(connection, owner, tools)
    evidence = {place: _evidence_of(connection, Place(owner, *place)) for place in tools}
    known = {place: [key for _, key in rows] for place, rows in evidence.items()}
    votes = votes_of(trajectory, schemas, known)
    fixes = fixes_of(trajectory, schemas)
    for calls in ledger_hindsight.calls_of_root(connection, owner, root):
        earlier = trajectory_of(calls)
        spent = {_name(vote) for vote in votes_of(earlier, schemas, known)}
        votes = [vote for vote in votes if _name(vote) not in spent]
        given = {_fix_name(vote) for vote in fixes_of(earlier, schemas)}
        fixes = [vote for vote in fixes if _fix_name(vote) not in given]
    outcomes = [
        outcome
        for step in steps_of(trajectory, schemas)
        for outcome in outcomes_of(step, evidence[step.place], step.record.at, config.decay.half_life_days)
    ]
    return Ballot([Place(owner, *place) for place in tools], votes, fixes, outcomes)


def count_votes(connection: Connection, ballot: Ballot) -> None:
    """Add a ballot to the evidence. Whoever marks its trajectory as learned must do so in the same transaction."""
    _add_evidence(connection, ballot.votes)
    _add_fixes(connection, ballot.fixes)
    if ballot.outcomes:
        # Only what was learned here is kept, so that a better table that ships later takes effect.
        owner = ballot.places[0].owner
        own = table_from_json(ledger_hindsight.reliability(connection, owner)).learn(ballot.outcomes)
        ledger_hindsight.put_reliability(connection, owner, table_to_json(own))


def make_lessons(
    connection: Connection, place: Place, config: Config, now: float
) -> tuple[Changes, Mapping[str, Mapping[str, Any]]]:
    """Make the lessons of one tool what its evidence says now; returns what changed, and by id the reasons."""
    rows = [Row(*place, env, key, evidence) for (env, key), evidence in _evidence_of(connection, place).items()]
    options = Options(now, config.warn.hold_min_trajectories, config.decay.half_life_days)
    lessons = _with_fixes(connection, place, lessons_of(rows, {}, _table(connection, place.owner), options))
    reasons = {
        each.lesson.id: {
            "condition": each.lesson.condition.value,
            "kind": each.lesson.kind.value,
            "failed": each.lesson.failed,
            "met": each.lesson.met,
            "score": each.lesson.score,
            "loud": each.lesson.loud,
        }
        for each in lessons
    }
    return ledger_lessons.keep(connection, *place, lessons, now), reasons


def _evidence_of(connection: Connection, place: Place) -> dict[tuple[str, str], Evidence]:
    found = {}
    for env, key, body in ledger_hindsight.bodies_of_tool(connection, db.evidence, *place):
        # What another version wrote in another way is left to it.
        with suppress(KeyError, TypeError, ValueError):
            found[env, key] = _read_evidence(body)
    return found


@lru_cache(EVIDENCE_REMEMBERED)
def _read_evidence(body: str) -> Evidence:
    # Most rows of a tool are what they were when the task before was learned.
    return evidence_from_json(json.loads(body))


def _table(connection: Connection, owner: str) -> Table:
    cells = default_table().cells()
    for cell, (right, met) in table_from_json(ledger_hindsight.reliability(connection, owner)).cells().items():
        shipped = cells.get(cell, (0.0, 0.0))
        cells[cell] = (shipped[0] + right, shipped[1] + met)
    return Table(cells)


def _with_fixes(connection: Connection, place: Place, lessons: Iterable[ScopedLesson]) -> list[ScopedLesson]:
    """Give each lesson the fixes of its own environment: a name that works here may be wrong elsewhere."""
    known = {
        (env, key): fixes_from_json(json.loads(body))
        for env, key, body in ledger_hindsight.bodies_of_tool(connection, db.fixes, *place)
    }
    read_only = ledger_hindsight.read_only_tools(connection, place.owner, place.server)
    found = []
    for scoped in lessons:
        fixes = worth_saying(known.get((scoped.env, scoped.lesson.key), ()), read_only)[:MAX_FIXES]
        found.append(replace(scoped, lesson=replace(scoped.lesson, fixes=fixes)))
    return found


def _add_evidence(connection: Connection, votes: Sequence[Vote]) -> None:
    by_scope = {Scope(*condition): own for condition, own in by_condition(votes).items() if _is_text(condition)}
    known = ledger_hindsight.bodies(connection, db.evidence, by_scope)
    rows = {}
    for scope, own in by_scope.items():
        if scope not in known and all(vote.only_if_known for vote in own):
            continue
        merged = merge(_read_evidence(known[scope]) if scope in known else None, own)
        rows[scope] = (merged.last_seen, json.dumps(evidence_to_json(merged)))
    ledger_hindsight.put_bodies(connection, db.evidence, rows)


def _add_fixes(connection: Connection, votes: Sequence[FixVote]) -> None:
    by_scope = {
        Scope(*condition): own for condition, own in fix_votes_by_condition(votes).items() if _is_text(condition)
    }
    known = ledger_hindsight.bodies(connection, db.fixes, by_scope)
    rows = {}
    for scope, own in by_scope.items():
        merged = merge_fixes(fixes_from_json(json.loads(known[scope])) if scope in known else (), own)
        rows[scope] = (max(vote.at for vote in own), json.dumps(fixes_to_json(merged)))
    ledger_hindsight.put_bodies(connection, db.fixes, rows)


def _name(vote: Vote) -> tuple[str, str, str, str, bool]:
    return vote.server, vote.tool, vote.env, vote.key, vote.failed


def _fix_name(vote: FixVote) -> tuple[str, str, str, str, Fix]:
    return vote.server, vote.tool, vote.env, vote.key, vote.fix


def _is_text(condition: Iterable[str]) -> bool:
    """Whether SQLite can hold it: half an emoji, which a client may cut a value to, is no UTF-8."""
    try:
        "".join(condition).encode()
    except UnicodeEncodeError:
        return False
    return True
