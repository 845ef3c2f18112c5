"""The votes of one trajectory: which conditions its failures blame, and which its successes clear."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b

from rearview.learn.conditions import ONLY_IF_KNOWN, condition_of, field_of, key_of
from rearview.learn.counts import (
    Evidence,
    Row,
    Vote,
    by_condition,
    evidence_from_json,
    evidence_to_json,
    lesson_id,
    merge,
)
from rearview.learn.facets import Facets, is_free_text
from rearview.learn.model import Trajectory
from rearview.learn.steps import Schemas, Step, blamed_keys, environment_of, steps_of
from rearview_interceptors.api import Condition, Kind

__all__ = [
    "Evidence",
    "Row",
    "Vote",
    "by_condition",
    "evidence_from_json",
    "evidence_to_json",
    "lesson_id",
    "merge",
    "votes_of",
]

PROVEN = 2


def votes_of(
    trajectory: Trajectory, schemas: Schemas, known: Mapping[tuple[str, str], Collection[str]] | None = None
) -> list[Vote]:
    """One vote for each condition and outcome, in a fixed order. Held calls and unknown outcomes say nothing.

    `known` are the keys in the ledger by server and tool: with it, successes vote for those of the types that only
    matter if known, also for those that can't be listed from the call alone (`lack`, several values). Without it,
    successes vote for all that can be listed, flagged `only_if_known`.
    """
    steps = steps_of(trajectory, schemas)
    blamed: dict[tuple[str, str], set[str]] = {}
    votes: dict[tuple[str, str, str, str, bool], Vote] = {}
    for step in steps:
        if step.failed:
            for vote in _blame(step):
                blamed.setdefault(step.place, set()).add(vote.key)
                _keep(votes, vote)
    for step in steps:
        if not step.failed:
            conditional = {*blamed.get(step.place, ()), *(known or {}).get(step.place, ())}
            for vote in _clear(step, conditional, listing=known is None):
                _keep(votes, vote)
    return list(votes.values())


def _keep(votes: dict[tuple[str, str, str, str, bool], Vote], vote: Vote) -> None:
    place = (vote.server, vote.tool, vote.env, vote.key, vote.failed)
    other = votes.get(place)
    if other is None:
        votes[place] = vote
        return
    latest = max(vote, other, key=lambda each: each.at)
    votes[place] = replace(latest, weight=max(vote.weight, other.weight), named=vote.named or other.named)


def _vote(step: Step, key: str, *, named: bool = False, weight: int = 1, mark: str = "") -> Vote:
    record = step.record
    condition = condition_of(key)
    return Vote(
        owner=record.owner,
        server=record.server,
        tool=record.tool,
        key=key,
        failed=step.failed,
        kind=(record.kind or Kind.OTHER) if step.failed else None,
        at=record.at,
        version=record.server_version,
        env=environment_of(record, key),
        field=_field(key, condition, step.facets),
        named=named,
        mark=mark,
        weight=weight,
        only_if_known=not step.failed and condition in ONLY_IF_KNOWN,
    )


def _field(key: str, condition: Condition | None, facets: Facets) -> str:
    if condition is not Condition.NAME:
        return field_of(key)
    return next((path for path, value in facets.leaves if is_free_text(value)), "")


def _blame(step: Step) -> Iterator[Vote]:
    for key, named in blamed_keys(step).items():
        yield _vote(step, key, named=named, mark=_mark(key, step))


def _mark(key: str, step: Step) -> str:
    field = field_of(key)
    seen = sorted(str(value) for path, value in step.facets.leaves if path == field) if field else []
    text = "\x00".join(seen) or step.record.digest
    return blake2b(text.encode(errors="surrogatepass"), digest_size=4).hexdigest()


def _clear(step: Step, conditional: Collection[str], *, listing: bool) -> Iterator[Vote]:
    record = step.record
    keys = dict.fromkeys(key for key in step.listed if listing or condition_of(key) not in ONLY_IF_KNOWN)
    keys.update(dict.fromkeys(step.met(conditional)))
    if listing:
        keys.update(dict.fromkeys(_lacking(step)))
    proven = record.said.lesson if record.said and record.said.channel == "repeat" else ""
    for key in keys:
        env = environment_of(record, key)
        right = proven and lesson_id(record.owner, record.server, record.tool, key, env) == proven
        yield _vote(step, key, weight=PROVEN if right else 1)


def _lacking(step: Step) -> Iterator[str]:
    """Keys that the schema has and the call has not."""
    properties = step.schema.get("properties") if step.schema else None
    for name in properties if isinstance(properties, Mapping) else ():
        key = key_of(Condition.LACK, (str(name), ""))
        if key and step.facets.lacks(str(name)):
            yield key
