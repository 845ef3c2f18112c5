"""Which relays are alive, read from the journals that they hold."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rearview.store.journal_reader import is_live, journal_files, read_lines
from rearview.store.journal_records import RelayStarted, ServerNamed, record_of

# The two records that name a relay are near the start of each of its files.
LOOKED_AT_LINES = 20


class Relay(NamedTuple):
    """A relay that is running now; `server` is the name that its client's configuration gave it."""

    server: str
    server_version: str
    client: str
    pid: int
    started: float


def relays_alive(journal: Path) -> list[Relay]:
    """Return the relays that hold a journal in this folder, the oldest first."""
    return [relay for file in journal_files(journal) if is_live(file) for relay in _relay(file)]


def _relay(file: Path) -> Iterator[Relay]:
    started: RelayStarted | None = None
    named: ServerNamed | None = None
    try:
        for _, line in islice(read_lines(file), LOOKED_AT_LINES):
            match record_of(line):
                case RelayStarted() as record:
                    started = record
                case ServerNamed() as record:
                    named = record
    except OSError:
        return
    if started is not None:
        version, client = (named.server_version, named.client_name) if named else ("", "")
        yield Relay(started.server, version, client, started.pid, started.started)
