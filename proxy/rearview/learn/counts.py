"""How the votes of trajectories for and against a condition add up."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nlargest, nsmallest
from math import exp2
from typing import Any

from rearview_interceptors.api import Kind

MAX_TIMES = 8
MAX_MARKS = 4
DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Vote:
    """What one trajectory says about one condition: that calls which met it failed, or that they worked.

    A trajectory has at most one vote for each outcome of a condition, at the time of the last such call. `env` is the
    environment tag that the condition is bound to, empty for any. `named`: the error itself pointed at it. `mark` is a
    short hash of what was met, to tell one value repeated from several. `weight` is 2 for the success of a held call
    that was repeated unchanged: two good trajectories silence a condition, and this proof silences at once.
    `only_if_known`: a success that means nothing unless the condition is in the ledger already.
    """

    owner: str
    server: str
    tool: str
    key: str
    failed: bool
    kind: Kind | None
    at: float
    version: str = ""
    env: str = ""
    field: str = ""
    named: bool = False
    mark: str = ""
    weight: int = 1
    only_if_known: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything known about one condition. `failed_at` and `good_at` hold the latest eight times, newest first.

    Merging the same votes in any order gives equal evidence. `named` counts the failures whose error pointed at the
    condition, `marks` are up to four different hashes of what was met.
    """

    failed: int = 0
    good: int = 0
    failed_at: tuple[float, ...] = ()
    good_at: tuple[float, ...] = ()
    kinds: tuple[tuple[str, int], ...] = ()
    first_seen: float = 0.0
    last_seen: float = 0.0
    version: str = ""
    field: str = ""
    named: int = 0
    marks: tuple[str, ...] = ()

    @property
    def since(self) -> int:
        """Good trajectories since the last failure, at most eight."""
        last = self.failed_at[0] if self.failed_at else float("-inf")
        return sum(at > last for at in self.good_at)

    @property
    def kind(self) -> Kind:
        """The commonest kind of its failures."""
        return Kind(self.kinds[0][0]) if self.kinds else Kind.OTHER

    def weights(self, now: float, half_life_days: float) -> tuple[float, float]:
        """Failed and good counts, each with the same decay; what is older than the times kept counts as the oldest."""
        return (
            _decayed(self.failed, self.failed_at, now, half_life_days),
            _decayed(self.good, self.good_at, now, half_life_days),
        )


@dataclass(frozen=True, slots=True)
class Row:
    """The evidence of one condition and whose it is, as the ledger keeps it."""

    owner: str
    server: str
    tool: str
    env: str
    key: str
    evidence: Evidence


def _decayed(count: int, times: tuple[float, ...], now: float, half_life_days: float) -> float:
    if not times or half_life_days <= 0:
        return float(count)
    factors = [exp2(-max(0.0, now - at) / DAY_SECONDS / half_life_days) for at in times]
    return sum(factors) + (count - len(times)) * factors[-1]


def merge(evidence: Evidence | None, votes: Iterable[Vote]) -> Evidence:
    """Add votes of one condition; in any order, with the same result. Never add the same vote twice."""
    old = evidence or Evidence()
    new = list(votes)
    if not new:
        return old
    bad = [vote for vote in new if vote.failed]
    good = [vote for vote in new if not vote.failed]
    counted = Counter(dict(old.kinds))
    counted.update((vote.kind or Kind.OTHER).value for vote in bad)
    latest = max([(old.last_seen, old.version), *((vote.at, vote.version) for vote in new)])
    first = min(vote.at for vote in new)
    fields = {old.field, *(vote.field for vote in new)} - {""}
    return Evidence(
        failed=old.failed + sum(vote.weight for vote in bad),
        good=old.good + sum(vote.weight for vote in good),
        failed_at=_newest(old.failed_at, bad),
        good_at=_newest(old.good_at, good),
        kinds=tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0]))),
        first_seen=min(old.first_seen, first) if evidence else first,
        last_seen=latest[0],
        version=latest[1],
        field=min(fields, default=""),
        named=old.named + sum(vote.named for vote in bad),
        marks=tuple(nsmallest(MAX_MARKS, {*old.marks, *(vote.mark for vote in bad if vote.mark)})),
    )


def _newest(times: tuple[float, ...], votes: list[Vote]) -> tuple[float, ...]:
    added = [vote.at for vote in votes for _ in range(vote.weight)]
    return tuple(nlargest(MAX_TIMES, [*times, *added]))


def by_condition(votes: Iterable[Vote]) -> dict[tuple[str, str, str, str, str], list[Vote]]:
    """Sort votes by the row that they belong to: owner, server, tool, env, key."""
    found: dict[tuple[str, str, str, str, str], list[Vote]] = {}
    for vote in votes:
        found.setdefault((vote.owner, vote.server, vote.tool, vote.env, vote.key), []).append(vote)
    return found


def evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    """Plain JSON for the ledger."""
    return {
        "failed": evidence.failed,
        "good": evidence.good,
        "failed_at": list(evidence.failed_at),
        "good_at": list(evidence.good_at),
        "kinds": dict(evidence.kinds),
        "first_seen": evidence.first_seen,
        "last_seen": evidence.last_seen,
        "version": evidence.version,
        "field": evidence.field,
        "named": evidence.named,
        "marks": list(evidence.marks),
    }


def evidence_from_json(body: Mapping[str, Any]) -> Evidence:
    """Read back what `evidence_to_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    kinds = {Kind(name).value: int(count) for name, count in body["kinds"].items()}
    return Evidence(
        failed=int(body["failed"]),
        good=int(body["good"]),
        failed_at=tuple(float(at) for at in body["failed_at"]),
        good_at=tuple(float(at) for at in body["good_at"]),
        kinds=tuple(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
        first_seen=float(body["first_seen"]),
        last_seen=float(body["last_seen"]),
        version=str(body["version"]),
        field=str(body["field"]),
        named=int(body["named"]),
        marks=tuple(str(mark) for mark in body["marks"]),
    )


def lesson_id(owner: str, server: str, tool: str, key: str, env: str = "") -> str:
    """16 hex digits that name a condition for ever."""
    text = "\x00".join((owner, server, tool, key, env) if env else (owner, server, tool, key))
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
