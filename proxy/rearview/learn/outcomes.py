"""Which conditions a call met that had failed before, and whether it failed again: what reliability is learned from."""

from collections.abc import Mapping

from rearview.learn.counts import Evidence
from rearview.learn.reliability import Cell, base_rate, cell_of
from rearview.learn.steps import Step

_PRIOR_FAILED, _PRIOR_MET = 0.1, 0.6


def outcomes_of(
    step: Step, known: Mapping[tuple[str, str], Evidence], now: float, half_life_days: float
) -> list[tuple[Cell, bool]]:
    """Return one cell for each type of condition that the call met, with whether the call failed.

    `known` is the evidence of the call's tool by environment and key, as it was before the call's task.
    """
    base = base_rate(known.get(("", "tool:")))
    failing: dict[str, list[Evidence]] = {}
    for (env, key), evidence in known.items():
        if evidence.failed and (not env or env in step.record.env):
            failing.setdefault(key, []).append(evidence)
    # As the condition with the best chance of a type would be the one to speak, it alone is judged.
    best: dict[str, tuple[float, Cell]] = {}
    for key in step.met(failing):
        for evidence in failing[key]:
            cell = cell_of(key, evidence, base, now, half_life_days)
            rank = (evidence.failed + _PRIOR_FAILED) / (evidence.failed + evidence.good + _PRIOR_MET)
            if cell[1] != "gone" and (cell[0] not in best or rank > best[cell[0]][0]):
                best[cell[0]] = (rank, cell)
    return [(cell, step.failed) for _, cell in best.values()]
