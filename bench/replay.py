"""Replays recorded trajectories as the learner and the relay would see them: judge each call from the past, then learn.

usage: replay.py FILE_OR_FOLDER... [--limit N]
Prints, for each source: how many failing calls a lesson matched before the call (recall), how many matches were right
(precision), and false alarms per 100 good calls; once for all lessons and once for the loud ones.
"""

import argparse
import gzip
import hashlib
import json
import pathlib
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from rearview.learn.counts import Evidence, Row, by_condition, merge
from rearview.learn.evidence import votes_of
from rearview.learn.fixes import fix_votes_by_condition, fixes_of, merge_fixes
from rearview.learn.kinds import kind_of
from rearview.learn.lessonset import Options, lessons_of
from rearview.learn.model import CallRecord, ScopedLesson, Trajectory
from rearview.learn.outcomes import outcomes_of
from rearview.learn.reliability import Cell, Table, default_table
from rearview.learn.steps import Step
from rearview_interceptors.api import Fix, Grade

HALF_LIFE_DAYS = 30.0

Place = tuple[str, str, str]

# What recordings are too small to show: forms and keys that the error itself points at. Taken as seen this often.
PRIOR: dict[Cell, tuple[float, float]] = {
    ("class+", "r=1", "2", "b>.6"): (29.0, 30.0),
    ("class+", "r=1", "1", "b>.6"): (9.0, 10.0),
    ("pattern+", "r=1", "2", "b>.6"): (29.0, 30.0),
    ("class^+", "r=1", "2", "b>.6"): (29.0, 30.0),
    ("key+", "r=1", "2", "b>.6"): (29.0, 30.0),
    ("key+", "r=1", "1", "b>.6"): (19.0, 20.0),
    ("lack", "r=1", "2", "b>.6"): (29.0, 30.0),
    ("lack", "r=1", "1", "b>.6"): (19.0, 20.0),
    ("value", "r=1", "3-4", "b>.6"): (29.0, 30.0),
    ("value", "r=1", "2", "b>.6"): (19.0, 20.0),
    ("name", "r=1", "2", "b>.6"): (19.0, 20.0),
    ("tool", "r=1", "5-9", "b>.6"): (19.0, 20.0),
    ("tool", "r=1", "10+", "b>.6"): (19.0, 20.0),
    ("schema", "r=1", "2", "b>.6"): (145.0, 148.0),
    ("schema", "r=1", "1", "b>.6"): (29.0, 30.0),
}


def load(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Trajectories of a file in replay order."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        yield from sorted((json.loads(line) for line in lines if line.strip()), key=lambda body: body["order"])


def trajectory_of(body: dict[str, Any]) -> Trajectory:
    """A recorded run as a trajectory; the clock ticks once a call and an hour a run."""
    start = 1.7e9 + body["order"] * 3600.0
    steps = []
    for index, step in enumerate(body["steps"]):
        arguments = step["arguments"] if isinstance(step["arguments"], dict) else {"": step["arguments"]}
        text = json.dumps([step["server"], step["tool"], arguments], sort_keys=True)
        failed = step["is_error"]
        record = CallRecord(
            relay="r",
            seq=index,
            at=start + index,
            ms=1.0,
            owner="bench",
            client="c",
            server=step["server"],
            server_version="1",
            tool=step["tool"],
            arguments=arguments,
            digest=hashlib.blake2b(text.encode(), digest_size=16).hexdigest(),
            grade=Grade.FLAGGED if failed else Grade.OK,
            kind=kind_of(step["result"], Grade.FLAGGED) if failed else None,
            result=step["result"],
            env=(f"project:{body.get('environment')}",),
        )
        steps.append(record)
    return Trajectory(body["trace_id"], "bench", "c", tuple(steps), start, start + len(steps))


class Verdict(NamedTuple):
    """What was known before one call, and what it then did."""

    failed: bool
    lesson: ScopedLesson | None
    cells: list[tuple[Cell, bool]]


class Learner:
    """A ledger in memory."""

    def __init__(self, table: Table, *, judging: bool = True) -> None:
        self.table = table
        self.judging = judging
        self.rows: dict[Place, dict[tuple[str, str], Evidence]] = defaultdict(dict)
        self.fixes: dict[tuple[str, str, str, str], tuple[Fix, ...]] = {}
        self.lessons: dict[Place, list[ScopedLesson]] = {}

    def judge(self, step: Step, now: float) -> Verdict:
        """The best lesson that a call meets, and the cells of the conditions with a failure that it meets."""
        record = step.record
        place = (record.owner, record.server, record.tool)
        if not self.judging:
            return Verdict(step.failed, None, outcomes_of(step, self.rows[place], now, HALF_LIFE_DAYS))
        if place not in self.lessons:
            rows = [Row(*place, env, key, evidence) for (env, key), evidence in self.rows[place].items()]
            self.lessons[place] = lessons_of(rows, self.fixes, self.table, Options(now))
        met_keys = set(step.met({scoped.lesson.key for scoped in self.lessons[place]}))
        met = [
            scoped
            for scoped in self.lessons[place]
            if (not scoped.env or scoped.env in record.env) and scoped.lesson.key in met_keys
        ]
        best = max(met, key=lambda scoped: (scoped.lesson.loud, scoped.lesson.score), default=None)
        return Verdict(step.failed, best, outcomes_of(step, self.rows[place], now, HALF_LIFE_DAYS))

    def learn(self, trajectory: Trajectory, verdicts: list[Verdict]) -> None:
        """After the end of a run."""
        self.table = self.table.learn(pair for verdict in verdicts for pair in verdict.cells)
        known = {
            (step.server, step.tool): [key for _, key in self.rows[step.owner, step.server, step.tool]]
            for step in trajectory.steps
        }
        for (owner, server, tool, env, key), votes in by_condition(votes_of(trajectory, {}, known)).items():
            rows = self.rows[owner, server, tool]
            rows[env, key] = merge(rows.get((env, key)), votes)
        for (owner, server, tool, _, key), fixes in fix_votes_by_condition(fixes_of(trajectory, {})).items():
            self.fixes[owner, server, tool, key] = merge_fixes(self.fixes.get((owner, server, tool, key), ()), fixes)
        for step in trajectory.steps:
            self.lessons.pop((step.owner, step.server, step.tool), None)


def replay(path: pathlib.Path, learner: Learner, limit: int) -> list[list[Verdict]]:
    """Verdicts of every run of a file."""
    out = []
    for body in list(load(path))[:limit]:
        trajectory = trajectory_of(body)
        verdicts = [learner.judge(Step(record, {}), record.at) for record in trajectory.steps]
        learner.learn(trajectory, verdicts)
        out.append(verdicts)
    return out


def figures(verdicts: list[Verdict], *, loud: bool) -> str:
    """One line: matches, precision, recall, false alarms."""
    count: Counter[str] = Counter()
    for verdict in verdicts:
        count["failed" if verdict.failed else "good"] += 1
        if verdict.lesson and (verdict.lesson.lesson.loud or not loud):
            count["hit" if verdict.failed else "false"] += 1
    said = count["hit"] + count["false"]
    precision, recall = count["hit"] / max(1, said), count["hit"] / max(1, count["failed"])
    alarms = 100 * count["false"] / max(1, count["good"])
    name = "loud" if loud else "all"
    return f"{name:5} matches {said:5} precision {precision:.3f} recall {recall:.3f} false/100 {alarms:.2f}"


def files(paths: list[pathlib.Path]) -> list[pathlib.Path]:
    """The recordings among paths and folders."""
    return [file for path in paths for file in (sorted(path.glob("*.jsonl*")) if path.is_dir() else [path])]


def learned(paths: list[pathlib.Path], limit: int) -> Table:
    """One table over all recordings, each replayed from an empty memory."""
    table = Table(PRIOR)
    for path in files(paths):
        learner = Learner(table, judging=False)
        replay(path, learner, limit)
        table = learner.table
    return table


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--limit", type=int, default=10_000, help="runs of each file")
    parser.add_argument("--leave-out", action="store_true", help="learn the table from the other sources only")
    parser.add_argument("--wrong", action="store_true", help="list the false alarms by condition")
    options = parser.parse_args()
    pooled = []
    every = files(options.paths)
    for path in every:
        others = [other for other in every if other.name.partition("-")[0] != path.name.partition("-")[0]]
        table = learned(others, options.limit) if options.leave_out else default_table()
        verdicts = [verdict for run in replay(path, Learner(table), options.limit) for verdict in run]
        pooled += verdicts
        for loud in (False, True):
            sys.stdout.write(f"{path.name.partition('.')[0]:24}{figures(verdicts, loud=loud)}\n")
        by_type = Counter((v.lesson.lesson.condition.value, v.failed) for v in verdicts if v.lesson)
        sys.stdout.write(
            "    " + " ".join(f"{k[0]}:{'+' if k[1] else '-'}{n}" for k, n in sorted(by_type.items())) + "\n"
        )
        if options.wrong:
            for v in verdicts:
                if v.lesson and not v.failed:
                    found = v.lesson.lesson
                    counts = f"{found.failed}/{found.met} {found.kind} {found.score}"
                    sys.stdout.write(f"      {v.lesson.tool} {found.key[:90]} {counts}\n")
    for loud in (False, True):
        sys.stdout.write(f"{'POOLED':24}{figures(pooled, loud=loud)}\n")


if __name__ == "__main__":
    main()
