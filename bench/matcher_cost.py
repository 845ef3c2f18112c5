#!/usr/bin/env python3
"""What looking a call up in the lessons costs a relay: time of a match, time of the first match, private memory.

usage: matcher_cost.py [--rounds N]

Times are microseconds of one call with a 200-character string and an integer; "baseline" is two bare dictionary
look-ups in a function call of its own. Memory is that of a fresh process that did only what its line says.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rearview.learn.matching import Matcher
from rearview.learn.model import ScopedLesson
from rearview.store.lessons import LessonsFile, write_table
from rearview_interceptors.api import Call, Condition, Fix, Kind, Lesson

OWNER, SERVER = "ann", "bench"
SAMPLES = 20_000
SENTENCE = "please list every visit of the players in spring and join them with what the coach wrote about the weather"
CLASSES = ("abspath", "url", "json", "relpath", "mail", "date", "otherdate", "listtext", "num+", "text", "id", "words")
FIXES = (Fix("convert", "query", "####-##-##", 3), Fix("rename", "q", "query", 2))


def prose(length: int) -> str:
    """Return a sentence of a length."""
    chosen, words = random.Random(1), SENTENCE.split()
    text = " ".join(chosen.choice(words) for _ in range(length))
    return text[:length]


TEXTS = {
    "prose": prose(200),
    "one word": "x" * 200,
    "path": ("/srv/data/" + "folder/" * 40)[:200],
    "SQL": ("select a.name, b.city from visits a join players b on a.id = b.id where b.age > 30 and " * 3)[:200],
}


def keys(number: int) -> Iterator[str]:
    """Give different keys of all types in turn, none of which is true of the calls that are made here."""
    yield from (
        "lack:query",
        "lack:limit",
        "schema:required:query",
        "schema:required:limit",
        "schema:type:limit=string",
    )
    for n in range(number - 5):
        path = ("query", "limit", f"other{n % 7}")[n % 3]
        yield (
            f"exact:{n:032x}",
            f"value:{path}=value-{n}",
            f"value:{path}=value-{n}&limit={n}",
            f"name:tbl:table_{'abcdefghij'[n % 10] * 3}{n}",
            f"key:{path}={CLASSES[n % len(CLASSES)]}x{n}",
            f"shape:limit=num0|query=made-up-{n}",
            f"class:{path}=abspath^/nowhere/{n}",
            f"pattern:{path}~HAT{'#' * (n % 12)}-{n}",
            f"schema:extra:other{n}",
            f"class:{path}=other{n}",
        )[n % 10]


def lessons(number: int, tools: int) -> Iterator[ScopedLesson]:
    """Give lessons, spread over so many tools."""
    each = number // tools
    for tool in range(tools):
        for n, key in enumerate(keys(each)):
            condition = Condition(key.partition(":")[0])
            known = Lesson(f"{tool}-{n}", condition, key, "query", Kind.ARGUMENT, 3, 4, 1.7e9, 0.9, n % 2 == 0, FIXES)
            yield ScopedLesson(OWNER, SERVER, f"tool{tool}", known)


def call(text: str, tool: str = "tool0") -> Call:
    """Return a call of two arguments."""
    return Call(1, SERVER, tool, {"query": text, "limit": 25}, bytes(16), 0.0, "task", False, {})


def us(start: int, end: int) -> str:
    """Return a time between two clock readings."""
    return f"{(end - start) / 1e3:.0f}"


def percentiles(work: Callable[[Call], object], calls: list[Call]) -> tuple[float, float]:
    """Return median and 99th percentile in microseconds, the cost of the clock taken off."""
    clock = time.perf_counter_ns
    empty = sorted(-(clock() - clock()) for _ in range(SAMPLES))[SAMPLES // 2]
    took = []
    for each in calls:
        start = clock()
        work(each)
        took.append(clock() - start)
    took.sort()
    return (took[len(took) // 2] - empty) / 1e3, (took[len(took) * 99 // 100] - empty) / 1e3


def private_kb() -> int:
    """Return the memory that this process shares with nobody."""
    rows = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith(("Private_Clean", "Private_Dirty")))


def memory_line(table: str, tools: int) -> None:
    """Print the private memory of this process after it opened a table and asked for some tools."""
    file = LessonsFile(Path(table), print)
    if tools >= 0:
        file.refresh(0.0)
    matchers = [Matcher(file.for_tool(OWNER, SERVER, f"tool{tool}")) for tool in range(tools)]
    for matcher in matchers:
        matcher.match(call(TEXTS["prose"]))
    print(private_kb())


def memory_of(table: Path, tools: int) -> int:
    """Return the median of five fresh processes, in KB."""
    command = [sys.executable, __file__, "--memory", str(table), str(tools)]
    got = [int(subprocess.run(command, capture_output=True, check=True, text=True).stdout) for _ in range(5)]
    return sorted(got)[2]


def time_lines(name: str, number: int, tools: int, rounds: int, table: Path) -> None:
    """Print what matching costs with so many lessons over so many tools."""
    write_table(table, lessons(number, tools) if number else [])
    file = LessonsFile(table, print)
    start = time.perf_counter_ns()
    file.refresh(0.0)
    opened = time.perf_counter_ns()
    known = file.for_tool(OWNER, SERVER, "tool0")
    read = time.perf_counter_ns()
    matchers: dict[str, Matcher | None] = {"tool0": Matcher(known, (), time.perf_counter) if known else None}
    compiled = time.perf_counter_ns()

    def match(each: Call) -> object:
        matcher = matchers[each.tool]
        return None if matcher is None else matcher.match(each)

    print(
        f"{name}: opening {us(start, opened)}, reading the tool {us(opened, read)}, compiling it {us(read, compiled)}"
    )
    for kind, text in TEXTS.items():
        calls = [call(text) for _ in range(SAMPLES)]
        best = min(percentiles(match, calls) for _ in range(rounds))
        print(f"    {kind:30} median  {best[0]:8.2f}    p99 {best[1]:8.2f}")
    file.close()


def baseline(rounds: int) -> None:
    """Print what two dictionary look-ups cost when they are all that is done."""
    by_path: dict[str, dict[object, int]] = {path: {n: n for n in range(250)} for path in ("query", "limit")}

    def look_up(each: Call) -> list[int]:
        return [n for path, value in each.arguments.items() if (n := by_path[path].get(value)) is not None]

    best = min(percentiles(look_up, [call(TEXTS["prose"])] * SAMPLES) for _ in range(rounds))
    print(f"{'baseline':34} median  {best[0]:8.2f}    p99 {best[1]:8.2f}")


def main() -> None:
    """Print the table of costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        memory_line(options.memory[0], int(options.memory[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "lessons.rvt"
        print(f"microseconds; best of {options.rounds} rounds of {SAMPLES}; load {os.getloadavg()[0]:.1f}")
        baseline(options.rounds)
        time_lines("no lessons", 0, 1, options.rounds, table)
        time_lines("500 lessons for the tool", 500, 1, options.rounds, table)
        time_lines("50,000 lessons over 500 tools", 50_000, 500, options.rounds, table)
        before = memory_of(table, -1)
        print(f"\nprivate memory, KB over {before} of a process that has the code but no table; 50,000 lessons")
        for tools in (0, 1, 10, 50):
            print(f"    {tools:3} tools called: {memory_of(table, tools) - before:6}")


if __name__ == "__main__":
    main()
