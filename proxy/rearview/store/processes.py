"""Tells whether client processes still live."""

import os
from collections.abc import Iterable


def gone_clients(clients: Iterable[str]) -> frozenset[str]:
    """Return those of the client keys (`pid-starttime`) whose process is surely gone.

    Only the process id is looked at: one that the system has given to somebody else since counts as alive, and the
    idle gap ends the task. A key of any other form is of a client that we can't look at, and counts as alive.
    """
    return frozenset(client for client in clients if _is_gone(client))


def _is_gone(client: str) -> bool:
    pid, dash, _ = client.partition("-")
    if not (dash and pid.isascii() and pid.isdigit() and 0 < int(pid) < 2**31):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
