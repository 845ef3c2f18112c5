"""`mcp-rearview learn`: learns from what is waiting, here and now."""

import argparse

from rearview.cli.context import Context
from rearview.cli.render import counted
from rearview.cli.status import numbers_of
from rearview.store.journal_reader import is_live, journal_files
from rearview.store.state import StateFolder, open_state

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
    """Learn and say what there is now; where a learner runs already, it is left to that one."""
    from rearview import learner  # SQLAlchemy takes a third of a second
    from rearview.store.ledger import open_ledger

    state = open_state(context.root)
    done = True
    if options.once or options.all:
        # A learner in the background may have done it all, and only waits for more.
        done = learner.catch_up(state, context.config, all_ended=options.all) or not (options.all or _waits(state))
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
        context.output.line("A learner is at work in the background; it will get to everything by itself.")
    return 0


def _waits(state: StateFolder) -> bool:
    """Whether there is a journal of a relay that has ended: the learner deletes each when it has read it."""
    return not all(is_live(file) for file in journal_files(state.journal))
