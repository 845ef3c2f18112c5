"""Opens what a command reads, after learning what is waiting, so that the answer is true right after a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rearview.cli.context import Context
from rearview.store.state import StateFolder, open_state

if TYPE_CHECKING:
    from rearview.store.ledger import Ledger


@contextmanager
def opened_ledger(context: Context) -> Iterator[tuple[StateFolder, "Ledger"]]:
    """Catch up, then open the ledger.

    Raises:
        StoreError: the state folder or the ledger can't be used.
    """
    # SQLAlchemy takes a third of a second, which `--help` need not pay.
    from rearview.learner import catch_up
    from rearview.store.ledger import open_ledger

    state = open_state(context.root)
    catch_up(state, context.config)
    ledger = open_ledger(state)
    try:
        yield state, ledger
    finally:
        ledger.close()
