"""`mcp-rearview learn`: learns from what is waiting, here and now."""

import argparse

from rearview.cli.context import Context
from rearview.cli.render import counted
from rearview.cli.status import numbers_of
from rearview.store.state import open_state

SUMMARY = "learn from what is waiting, in this process instead of in the background"
EXAMPLES = """\
  mcp-rearview learn --once    learn from the tasks that are over, then leave
  mcp-rearview learn --all     take every task as over, also one that may still go on, then leave
  mcp-rearview learn           go on until there is nothing to do any more, as the background process does
"""


def fill(parser: argparse.ArgumentParser) -> None:
    """When to leave."""
    parser.add_argument("--once", action="store_true", help="leave when what is over has been learned")
    parser.add_argument("--all", action="store_true", help="take every task as over; leaves as --once does")


def run(context: Context, options: argparse.Namespace) -> int:
    """Learn and say what there is now; nothing is done if a learner is at work already."""
    from rearview import learner  # SQLAlchemy takes a third of a second
    from rearview.store.ledger import open_ledger

    state = open_state(context.root)
    done = True
    if options.once or options.all:
        done = learner.catch_up(state, context.config, all_ended=options.all)
    else:
        arguments = ["--state", str(state.root)]
        learner.main([*arguments, "--config", str(context.config_path)] if context.config_path else arguments)
    ledger = open_ledger(state)
    try:
        learned = numbers_of(ledger.counts(context.config.owner))["learned"]
    finally:
        ledger.close()
    if context.output.as_json:
        context.output.data({"done": done, **learned})
    elif done:
        context.output.line(f"{counted(learned['lessons'], 'lesson')} from {counted(learned['tasks'], 'task')}.")
    else:
        context.output.line("A learner is at work already; it will get to everything by itself.")
    return 0
