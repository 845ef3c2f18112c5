"""How often conditions of a type, with this much evidence, were right so far over all tools: the score of a lesson."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rearview.learn.conditions import parse
from rearview.learn.counts import Evidence
from rearview.learn.outside import OUTSIDE
from rearview.learn.reliability_data import LEARNED
from rearview_interceptors.api import Condition

PRIOR_MEAN = 0.15
PRIOR_WEIGHT = 4.0
VOTES_PER_TRAJECTORY = 2.0
SILENCED_AFTER = 2

Cell = tuple[str, str, str, str]
"""Type, failure rate, number of failed trajectories, failure rate of the tool; all in buckets."""

JSON_TYPES = frozenset({"string", "number", "boolean", "null", "array", "object"})

_COUNTS = ((1, "1"), (2, "2"), (4, "3-4"), (9, "5-9"))
_RATES = ((0.9, "r>.9"), (0.75, "r>.75"), (0.5, "r>.5"), (0.3, "r>.3"))
_BASES = ((0.1, "b<.1"), (0.3, "b<.3"), (0.6, "b<.6"))
_FEW = 3


class Table:
    """Right and met counts by cell, scored with back-off to the shorter prefixes of the cell."""

    def __init__(self, cells: Mapping[Cell, tuple[float, float]]) -> None:
        self._leaves = dict(cells)
        self._sums: dict[tuple[str, ...], tuple[float, float]] = {}
        self._scores: dict[Cell, float] = {}
        for cell, (right, met) in sorted(cells.items()):
            for length in range(1, len(cell) + 1):
                h, n = self._sums.get(cell[:length], (0.0, 0.0))
                self._sums[cell[:length]] = (h + right, n + met)

    def score(self, cell: Cell) -> float:
        """Mean less one standard deviation, from 0 to 1; a condition that has been silenced scores 0."""
        if cell[1] == "gone":
            return 0.0
        got = self._scores.get(cell)
        if got is None:
            mean, met = PRIOR_MEAN, 0.0
            for length in range(1, len(cell) + 1):
                right, met = self._sums.get(cell[:length], (0.0, 0.0))
                mean = (right + PRIOR_WEIGHT * mean) / (met + PRIOR_WEIGHT)
            spread = math.sqrt(mean * (1 - mean) / (met + PRIOR_WEIGHT + 1))
            got = self._scores[cell] = max(0.0, mean - spread)
        return got

    def learn(self, outcomes: Iterable[tuple[Cell, bool]]) -> "Table":
        """Return the table after one trajectory: for each call, a cell that it met and whether it failed.

        A cell gets at most two votes a trajectory, so that a loop teaches little.
        """
        seen: dict[Cell, tuple[float, float]] = {}
        for cell, failed in outcomes:
            right, met = seen.get(cell, (0.0, 0.0))
            seen[cell] = (right + failed, met + 1)
        cells = dict(self._leaves)
        for cell, (right, met) in seen.items():
            share = min(1.0, VOTES_PER_TRAJECTORY / met)
            h, n = cells.get(cell, (0.0, 0.0))
            cells[cell] = (h + right * share, n + met * share)
        return Table(cells)

    def cells(self) -> dict[Cell, tuple[float, float]]:
        """Right and met counts of every full cell, to be kept."""
        return dict(self._leaves)


def default_table() -> Table:
    """The table that ships, learned from public recordings of agents."""
    return Table({_cell(name): counts for name, counts in LEARNED.items()})


def _cell(name: str) -> Cell:
    kind, rate, count, base = name.split("/")
    return kind, rate, count, base


def table_to_json(table: Table) -> dict[str, list[float]]:
    """Plain JSON for the ledger."""
    return {"/".join(cell): [right, met] for cell, (right, met) in table.cells().items()}


def table_from_json(body: Mapping[str, Any]) -> Table:
    """Read back what `table_to_json` wrote.

    Raises:
        TypeError, ValueError: it is something else.
    """
    return Table({_cell(name): (float(right), float(met)) for name, (right, met) in body.items()})


def cell_of(key: str, evidence: Evidence, base: float, now: float, half_life_days: float) -> Cell:
    """The cell of a condition; `base` is the failure rate of its tool."""
    failed, good = evidence.weights(now, half_life_days)
    return type_of(key, evidence), _rate(failed, good, evidence), _count(evidence.failed), _bucket(base, _BASES, "b>.6")


def type_of(key: str, evidence: Evidence) -> str:
    """The condition type, finer than the key's: `+` marks forms that the error itself pointed at, `^` folders."""
    parsed = parse(key)
    if parsed is None:
        return "?"
    operand = parsed.parts[0][1] if parsed.parts else ""
    sure = False
    if parsed.condition is Condition.KEY:
        sure = operand in JSON_TYPES
    elif parsed.condition in {Condition.CLASS, Condition.PATTERN}:
        sure = evidence.named * 2 > evidence.failed
    folder = "^" if parsed.condition is Condition.CLASS and operand.startswith(("abspath^", OUTSIDE)) else ""
    return f"{parsed.condition}{folder}{'+' if sure else ''}"


def _rate(failed: float, good: float, evidence: Evidence) -> str:
    if evidence.since >= SILENCED_AFTER:
        return "gone"
    if evidence.good == 0:
        return "r=1"
    total = failed + good
    rate = (failed + 0.25) / (total + 1.0) if total < _FEW else failed / total
    return next((name for floor, name in _RATES if rate > floor), "low")


def _count(failed: int) -> str:
    return next((name for limit, name in _COUNTS if failed <= limit), "10+")


def _bucket(value: float, limits: tuple[tuple[float, str], ...], last: str) -> str:
    return next((name for limit, name in limits if value < limit), last)


def base_rate(tool: Evidence | None) -> float:
    """Failure rate of a tool from its `tool:` condition, lightly primed."""
    failed, good = (tool.failed, tool.good) if tool else (0, 0)
    return (failed + 0.5) / (failed + good + 4.0)
