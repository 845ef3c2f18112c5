"""`mcp-rearview status`: what is watched, what was learned and said, and what is wrong."""

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rearview.cli.context import Context
from rearview.cli.memory import opened_ledger
from rearview.cli.render import Output, counted, when
from rearview.cli.watching import Relay, relays_alive
from rearview.errors import StoreError

if TYPE_CHECKING:
    from rearview.store.ledger_reading import Counts

SUMMARY = "what is watched, what was learned and said, and what is wrong"
EXAMPLES = """\
  mcp-rearview status                     everything on one page; it learns first what is waiting
  mcp-rearview status --json              the same for a program; `problems` is empty when all is well
  mcp-rearview --state FOLDER status      of another state folder
"""

UNUSABLE = 1
CHANNELS = {
    "hold": "held once, before the server saw it",
    "hint": "advice on a reply that failed",
    "repeat": "held, sent again unchanged, so it ran",
    "control": "left alone on purpose, to compare",
    "silent": "matched, but the mode or the budget was silent",
}


def fill(parser: argparse.ArgumentParser) -> None:
    """It takes nothing of its own."""


def run(context: Context, options: argparse.Namespace) -> int:  # noqa: ARG001 - every command is called with both
    """Print the page; a state folder that can't be used is part of the answer, and makes the exit code 1."""
    from rearview.cli.health import learner_state, problems_of

    code, now = 0, time.time()
    facts: dict[str, Any] = {
        "state_folder": str(context.root), "owner": context.config.owner, "relays": [], "learner": "unknown",
        "seen": {}, "learned": {}, "said": {}, "saved": 0, "problems": [],
    }  # fmt: skip
    try:
        with opened_ledger(context) as (state, ledger):
            counts = ledger.counts(context.config.owner)
            facts |= numbers_of(counts)
            facts["relays"] = [relay._asdict() for relay in relays_alive(state.journal)]
            facts["learner"] = learner_state(state, context.config)
            facts["problems"] = problems_of(state, ledger, context.config, now)
    except StoreError as error:
        code, facts["problems"] = UNUSABLE, [str(error)]
    if context.output.as_json:
        context.output.data(facts)
    else:
        _print(context.output, facts, now)
    return code


def numbers_of(counts: "Counts") -> dict[str, Any]:
    """Return the figures of an owner as plain JSON."""
    failed = sum(counts.by_grade.get(grade, 0) for grade in ("soft", "flagged", "hard"))
    return {
        "seen": {
            "calls": counts.calls, "failed": failed, "by_grade": dict(counts.by_grade),
            "by_kind": dict(counts.by_kind), "dropped": counts.dropped,
        },
        "learned": {
            "tasks": counts.trajectories, "calls_waiting": counts.waiting, "conditions": counts.conditions,
            "lessons": counts.lessons.get("active", 0), "muted": counts.lessons.get("muted", 0),
        },
        "said": {
            channel: {"times": said.times, "changed": said.changed, "then_worked": said.succeeded}
            for channel, said in counts.said.items()
        },
        "saved": counts.saved,
    }  # fmt: skip


def _print(output: Output, facts: Mapping[str, Any], now: float) -> None:
    output.line(f"Rearview of {facts['owner']}, in {facts['state_folder']}")
    output.line(f"Learner: {facts['learner']}")
    _print_relays(output, [Relay(**relay) for relay in facts["relays"]], now)
    if facts["seen"]:
        seen, learned = facts["seen"], facts["learned"]
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(seen["by_kind"].items()))
        calls, lessons = counted(seen["calls"], "call"), counted(learned["lessons"], "lesson")
        waiting = learned["calls_waiting"]
        belong = f"{counted(waiting, 'call')} {'belongs' if waiting == 1 else 'belong'} to tasks that go on"
        output.line(f"Seen: {calls}, {seen['failed']} failed{f' ({kinds})' if kinds else ''}")
        output.line(f"Learned: {lessons} ({learned['muted']} muted) from {counted(learned['tasks'], 'task')}; {belong}")
    if facts["said"]:
        _print_said(output, facts["said"], facts["saved"])
    for problem in facts["problems"]:
        output.line(f"Problem: {problem}", style="bold red")
    if not facts["problems"]:
        output.line("No problems.", style="green")


def _print_relays(output: Output, relays: Sequence[Relay], now: float) -> None:
    if not relays:
        output.line("Watched: no relay is running now (put `mcp-rearview wrap --` before a server's command)")
        return
    rows = [
        (relay.server or "(not named yet)", relay.server_version, relay.client, relay.pid, when(relay.started, now))
        for relay in relays
    ]
    output.table(("server", "version", "client", "pid", "started"), rows, title="Watched")


def _print_said(output: Output, said: Mapping[str, Mapping[str, int]], saved: int) -> None:
    rows = [
        (words, said[channel]["times"], said[channel]["changed"], said[channel]["then_worked"])
        for channel, words in CHANNELS.items()
        if channel in said
    ]
    output.table(("what was said", "times", "call changed", "then worked"), rows, title="Said")
    if saved:
        calls = f"{counted(saved, 'failing call')} that {'was' if saved == 1 else 'were'} never made"
        output.line(f"Saved: {calls}; the agent changed it, and that worked.", style="green")
