"""`mcp-rearview calls`: the calls that were seen, with how they ended."""

import argparse
import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rearview.cli.context import Context
from rearview.cli.lesson_words import KINDS
from rearview.cli.memory import opened_ledger
from rearview.cli.render import Output, clock, one_line
from rearview.store.background import is_running
from rearview.store.journal_reader import journal_files
from rearview.store.state import StateFolder

if TYPE_CHECKING:
    from rearview.learn.model import CallRecord

SUMMARY = "the calls that were seen, the newest last, with how they ended"
EXAMPLES = """\
  mcp-rearview calls                       the last 20
  mcp-rearview calls --failed --limit 100  only those that failed, more of them
  mcp-rearview calls --server git          of one server, by the name in the client's configuration
  mcp-rearview calls --follow              and go on with new ones until Ctrl-C
  mcp-rearview calls --json | jq '.[].tool'
"""

COLUMNS = ("at", "outcome", "ms", "call and answer")
SHOWN_CHARS = 60
MOST_CALLS = 1_000_000
YEAR_CHARS = len("2027-")
SAID = {"hint": "advised", "repeat": "repeated after a hold", "control": "left alone", "silent": "nothing said"}
FOLLOW_SECONDS = 1.0
FOLLOWED_AT_ONCE = 1000


def fill(parser: argparse.ArgumentParser) -> None:
    """Which calls, and how many."""
    parser.add_argument("--server", metavar="NAME", help="only calls of this server")
    parser.add_argument("--failed", action="store_true", help="only calls that failed")
    parser.add_argument("--limit", metavar="N", type=_limit, default=20, help="how many (default: 20)")
    parser.add_argument("--follow", action="store_true", help="go on printing new calls until Ctrl-C")


def run(context: Context, options: argparse.Namespace) -> int:
    """Print the calls; with `--follow`, JSON comes one call a line."""
    if options.follow:
        return _follow(context, options)
    calls = _recent(context, options, options.limit)
    if context.output.as_json:
        context.output.data([as_data(call) for call in calls])
    elif calls:
        context.output.table(COLUMNS, [_row(call) for call in calls])
    else:
        context.output.line(_nothing(context, options))
    return 0


def as_data(call: "CallRecord") -> dict[str, Any]:
    """Return a call as plain JSON."""
    return {
        "at": call.at, "server": call.server, "server_version": call.server_version, "tool": call.tool,
        "grade": call.grade.value, "kind": call.kind.value if call.kind else None, "ms": call.ms,
        "said": call.said._asdict() if call.said else None, "arguments": dict(call.arguments), "result": call.result,
        "client": call.client_name, "task_ref": call.task_ref, "relay": call.relay, "seq": call.seq,
    }  # fmt: skip


def _recent(context: Context, options: argparse.Namespace, limit: int) -> list["CallRecord"]:
    with opened_ledger(context) as (_, ledger):
        newest = ledger.recent_calls(context.config.owner, limit, options.server, failed_only=options.failed)
    return newest[::-1]


def _nothing(context: Context, options: argparse.Namespace) -> str:
    with opened_ledger(context) as (_, ledger):
        servers = ledger.servers(context.config.owner)
    if not servers:
        return "No calls yet. They come with the first relay: put `mcp-rearview wrap --` before a server's command."
    wanted = [f"--server {options.server}"] if options.server is not None else []
    wanted += ["--failed"] if options.failed else []
    return f"No call fits {' '.join(wanted)}. There are calls of: {', '.join(servers)}."


def _follow(context: Context, options: argparse.Namespace) -> int:
    state = StateFolder(context.root)
    journals = _sizes(state)
    calls = _recent(context, options, FOLLOWED_AT_ONCE)
    new = calls[-options.limit :]
    while True:
        for call in new:
            _print_one(context.output, call)
        time.sleep(FOLLOW_SECONDS)
        before, journals = journals, _sizes(state)
        # A learner at work takes calls in whenever it likes; without one, there is news only in journals.
        if journals != before or is_running(state):
            known = {(call.relay, call.seq) for call in calls}
            calls = _recent(context, options, FOLLOWED_AT_ONCE)
            new = [call for call in calls if (call.relay, call.seq) not in known]
        else:
            new = []


def _sizes(state: StateFolder) -> dict[str, int]:
    sizes = {}
    for file in journal_files(state.journal):
        with suppress(OSError):
            sizes[file.name] = file.stat().st_size
    return sizes


def _print_one(output: Output, call: "CallRecord") -> None:
    if output.as_json:
        output.record(as_data(call))
    else:
        output.line("  ".join(str(cell) for cell in _row(call) if cell != ""))


def _row(call: "CallRecord") -> tuple[object, ...]:
    outcome = "held" if call.said is not None and call.said.channel == "hold" else call.grade.value
    arguments = one_line(json.dumps(call.arguments, ensure_ascii=False), SHOWN_CHARS)
    told = [KINDS[call.kind]] if call.kind else []
    if call.said is not None and outcome != "held":
        told.append(SAID.get(call.said.channel, call.said.channel))
    why = f" ({'; '.join(told)})" if told else ""
    answer = f": {one_line(call.result, SHOWN_CHARS)}" if call.result else ""
    # The year is clear, and the rest has to find room beside it.
    moment = clock(call.at)[YEAR_CHARS:]
    return moment, outcome, f"{call.ms:.0f}", f"{call.tool} of {call.server} {arguments}{why}{answer}"


def _limit(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MOST_CALLS)) else 0
    if not 1 <= number <= MOST_CALLS:
        message = f"{text!r} is none; it takes a whole number from 1 to {MOST_CALLS}"
        raise argparse.ArgumentTypeError(message)
    return number
