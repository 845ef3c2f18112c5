#!/usr/bin/env python3
"""What learning takes: journals of many tasks into the ledger, and the time from a task's end to the lesson in force.

usage: learner.py [--calls N ...] [--json]

The journals are those of finished relays, five calls a task, the first of them failing. The second figure is that of a
real relay and a background learner: a session ends, and the clock runs until a new table is there.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stdio_client import Client

SERVER = [sys.executable, str(Path(__file__).parent / "stdio_echo.py")]
REARVIEW = [sys.executable, "-m", "mcp_rearview"]
CALLS_A_TASK = 5
TASKS_A_RELAY = 100
PATIENCE_SECONDS = 30.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, nargs="+", default=[10_000])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures: dict[str, Any] = {f"{number} calls": learning(number) for number in options.calls}
    figures["from the end of a task to the lesson in force, s"] = round(in_force(), 2)
    print(json.dumps(figures) if options.json else "\n".join(f"{key}: {value}" for key, value in figures.items()))


def learning(number: int) -> dict[str, float]:
    """Return figures for `number` calls of finished relays."""
    home = Path(tempfile.mkdtemp(prefix="rearview-bench-"))
    try:
        journal = home / "state" / "journal"
        journal.mkdir(parents=True, mode=0o700)
        (home / "state").chmod(0o700)
        (home / "state" / "version").write_text("1\n")
        write_journals(journal, number)
        before, used = time.perf_counter(), os.times()
        subprocess.run([*REARVIEW, "learn", "--once"], env=surroundings(home), check=True, capture_output=True)
        spent, after = time.perf_counter() - before, os.times()
        cpu = after.children_user + after.children_system - used.children_user - used.children_system
        return {
            "seconds": round(spent, 2),
            "calls a second": round(number / spent),
            "CPU seconds": round(cpu, 2),
            "ledger MB": round((home / "state" / "ledger.sqlite3").stat().st_size / 1e6, 1),
            "table kB": round((home / "state" / "lessons.rvt").stat().st_size / 1e3, 1),
        }
    finally:
        shutil.rmtree(home, ignore_errors=True)


def write_journals(journal: Path, number: int) -> None:
    """Write what relays would have left that served `number` calls."""
    began = time.time() - 3 * 86_400
    a_relay = CALLS_A_TASK * TASKS_A_RELAY
    for relay in range(-(-number // a_relay)):
        name, client = f"{relay:016x}", f"{relay + 10}-1"
        fixed = {"v": 1, "relay": name, "owner": os.environ.get("USER", "root"), "client": client, "server": "files"}
        lines = [{**fixed, "seq": 1, "t": "relay", "at": began, "env": [], "pid": 1, "started": began}]
        calls = range(min(a_relay, number - relay * a_relay))
        lines += [{**fixed, "seq": n + 2, **made_call(began + relay * 50_000 + n * 100, n)} for n in calls]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (journal / f"{began * 1000 + relay:.0f}-1-{name}.jsonl").write_text(text)


def made_call(at: float, number: int) -> dict[str, Any]:
    """Return one call as journaled; each task is five calls, and then an idle gap."""
    task, place = divmod(number, CALLS_A_TASK)
    fails = place == 0
    arguments = {"file": f"notes/{task}.txt"} if fails else {"path": f"/data/notes/{task}-{place}.txt"}
    return {
        "t": "call",
        "at": at + task * 1000,
        "ms": 3.0,
        "server_version": "1",
        "tool": "read_file",
        "arguments": arguments,
        "digest": f"{hash((task, place)) & (2**128 - 1):032x}",
        "grade": "flagged" if fails else "ok",
        "kind": "argument" if fails else None,
        "result": "path: Field required" if fails else "a line of text " * 20,
        "task_ref": "",
        "client_name": "bench",
        "env": [],
        "said": None,
    }


def surroundings(home: Path, **more: str) -> Mapping[str, str]:
    """Return the environment of a process with a home of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("REARVIEW_", "XDG_"))}
    return {**kept, "HOME": str(home), "REARVIEW_STATE_DIR": str(home / "state"), **more}


def in_force() -> float:
    """Return the seconds from the end of a session in which a call failed to the new table."""
    home = Path(tempfile.mkdtemp(prefix="rearview-bench-"))
    table = home / "state" / "lessons.rvt"
    try:
        # The first session starts the learner; the second, with another failure, ends while it is at work.
        for arguments in ({"file": "x"}, {"path": "y"}):
            client = Client([*REARVIEW, "wrap", "--name", "echo", "--", *SERVER], surroundings(home), home / "errors")
            client.failing("echo", arguments)
            before = written(table)
            client.close()
            ended = time.perf_counter()
            while written(table) == before and time.perf_counter() - ended < PATIENCE_SECONDS:
                time.sleep(0.01)
        return time.perf_counter() - ended
    finally:
        shutil.rmtree(home, ignore_errors=True)


def written(table: Path) -> int:
    """Return when the table was written, 0 if it is not there."""
    try:
        return table.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


if __name__ == "__main__":
    main()
