#!/usr/bin/env python3
"""What the relay adds: direct, a bare parsing relay, and ours with everything on and 500 lessons about the very tool.

usage: overhead.py [--rounds N] [--calls N] [--soak N] [--pin CPU] [--json]

All targets stay alive and take turns, so that noise meets them alike; compare the ratios of one run, not the times of
two. `x parse` is the added median latency over that of the parsing relay, `of parse` the share of its calls a second
with 32 in flight. After the soak every call must stand in the journal and must have been tried against the lessons.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from stdio_client import Client

HERE = Path(__file__).parent
SERVER = [sys.executable, str(HERE / "stdio_echo.py")]
SIZES = {"1 kB": (200, 1000), "100 kB": (100_000, 0), "1 MB": (1_000_000, 0)}
LESSONS = 500
WINDOW = 32
CONFIG = """
[warn]
control_share = 0.0
[journal]
max_file_mb = 512
max_total_mb = 2048
"""


class Target(NamedTuple):
    """One way from the client to the server, and where it keeps its state."""

    name: str
    client: Client
    state: Path | None


def main() -> int:
    """Measure, print, and fail when a count is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=300, help="calls one by one in a round")
    parser.add_argument("--soak", type=int, default=10_000)
    parser.add_argument("--pin", type=int, default=min(os.sched_getaffinity(0)), help="the CPU for all; -1: any")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.pin >= 0:
        os.sched_setaffinity(0, {options.pin})
    scratch = Path(tempfile.mkdtemp(prefix="rearview-bench-"))
    try:
        targets = start(scratch)
        figures = measure(targets, options)
        wrong = count(targets, figures)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(json.dumps(figures) if options.json else table(figures))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def start(scratch: Path) -> list[Target]:
    """Start every target, each with a home of its own."""
    rearview = [sys.executable, "-m", "mcp_rearview"]
    targets = []
    for name, command, lessons in (
        ("direct", SERVER, 0),
        ("parse", [sys.executable, str(HERE / "parse_relay.py"), *SERVER], 0),
        ("rearview", [*rearview, "wrap", "--name", "echo", "--", *SERVER], 0),
        (f"rearview, {LESSONS} lessons", [*rearview, "wrap", "--name", "echo", "--", *SERVER], LESSONS),
    ):
        home = scratch / str(len(targets))
        home.mkdir()
        (home / "config.toml").write_text(CONFIG)
        state = home / "state" if "rearview" in name else None
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("REARVIEW_", "XDG_"))}
        own = {"HOME": str(home), "REARVIEW_STATE_DIR": str(home / "state")}
        environment = {**kept, **own, "REARVIEW_CONFIG": str(home / "config.toml")}
        if lessons:
            exported = {"rearview_lessons": 1, "lessons": list(made_up(lessons))}
            argv = [*rearview, "lessons", "import", "-"]
            subprocess.run(argv, input=json.dumps(exported).encode(), env=environment, check=True, capture_output=True)
        targets.append(Target(name, Client(command, environment, home / "errors"), state))
    return targets


def made_up(number: int) -> list[dict[str, Any]]:
    """Return lessons of all types about `echo` that no call of this bench meets."""
    forms = (
        ("exact", "exact:{n:032x}", ""),
        ("value", "value:text=gone-{n}", "text"),
        ("value", "value:reply=9{n}&text=gone-{n}", "text"),
        ("name", "name:tbl:ledger_{n}", "text"),
        ("key", "key:text=otherdate", "text"),
        ("lack", "lack:path{n}", "path{n}"),
        ("class", "class:text=abspath^/etc{n}", "text"),
        ("pattern", "pattern:text~##.##.#{n}", "text"),
        ("shape", "shape:a{n}=word|b=word", ""),
    )
    lessons = []
    for n in range(number):
        condition, key, field = (part.format(n=n) for part in forms[n % len(forms)])
        if condition == "lack":
            # A lacking key would be true of every call here; the schema's own keys are never lacking.
            condition, key, field = "lack", ("lack:text", "lack:reply")[n % 2], ("text", "reply")[n % 2]
        body = {
            "id": f"{n:016x}",
            "condition": condition,
            "key": key,
            "field": field,
            "kind": "argument",
            "failed": 3,
            "met": 3,
            "last_seen": 1.7e9,
            "score": 0.9,
            "loud": True,
            "fixes": [],
            "good_form": "",
        }
        lessons.append({"server": "echo", "tool": "echo", "env": "", "lesson": body})
    return lessons


def measure(targets: list[Target], options: argparse.Namespace) -> dict[str, Any]:
    """Rounds over all targets in turn, forwards and backwards; ratios are medians over the rounds."""
    raw: dict[str, dict[str, list[float]]] = {target.name: {} for target in targets}
    for target in targets:
        target.client.one_by_one(100, *SIZES["1 kB"])
    for turn in range(options.rounds):
        for target in targets if turn % 2 else targets[::-1]:
            mine = raw[target.name]
            for size, (out, back) in SIZES.items():
                number = max(5, options.calls * 1000 // max(1000, out * 10)) if out > 1000 else options.calls
                mine.setdefault(size, []).append(statistics.median(target.client.one_by_one(number, out, back)))
            rate = target.client.in_flight(options.calls * 4, *SIZES["1 kB"], WINDOW)
            mine.setdefault("in flight", []).append(rate)
    figures: dict[str, Any] = {}
    for target in targets:
        mine, direct, parse = raw[target.name], raw["direct"], raw["parse"]
        row: dict[str, Any] = {"start ms": target.client.start_s * 1e3}
        for size in SIZES:
            added = [a - b for a, b in zip(mine[size], direct[size], strict=True)]
            base = [a - b for a, b in zip(parse[size], direct[size], strict=True)]
            row[f"{size} added us"] = statistics.median(added) * 1e6
            row[f"{size} x parse"] = statistics.median(added) / max(1e-9, statistics.median(base))
        row["in flight/s"] = statistics.median(mine["in flight"])
        shares = [a / b for a, b in zip(mine["in flight"], parse["in flight"], strict=True)]
        row["in flight of parse"] = statistics.median(shares)
        row["MB before"] = target.client.resident_mb()
        target.client.in_flight(options.soak, *SIZES["1 kB"], WINDOW)
        row["MB after"] = target.client.resident_mb()
        figures[target.name] = row
    return figures


def count(targets: list[Target], figures: dict[str, Any]) -> list[str]:
    """End every target; return what is wrong with the counts of ours."""
    wrong = []
    for target in targets:
        kept: list[Path] = []
        if target.state is not None:
            for number, file in enumerate((target.state / "journal").iterdir()):
                # The learner deletes a journal that it has read; a second name keeps it for us.
                copy = target.state.parent / f"kept-{number}"
                os.link(file, copy)
                kept.append(copy)
        target.client.close()
        if target.state is None:
            continue
        records = [json.loads(line) for file in kept for line in file.read_bytes().splitlines()]
        calls = sum(record["t"] == "call" for record in records)
        end = next((record for record in records if record["t"] == "end"), {})
        row = figures[target.name]
        row |= {"calls": target.client.calls, "journal lines": calls, "drops": end.get("dropped")}
        row["matches evaluated"] = end.get("evaluated")
        expected = target.client.calls if "lessons" in target.name else 0
        if (calls, end.get("dropped"), end.get("evaluated")) != (target.client.calls, 0, expected):
            wrong.append(f"{target.name}: the counts are wrong: {row}")
    return wrong


def table(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    columns = list(dict.fromkeys(key for row in figures.values() for key in row))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in figures.items():
        cells = (f"{row[key]:,.2f}" if isinstance(row.get(key), float) else str(row.get(key, "")) for key in columns)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
