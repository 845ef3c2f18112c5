"""The way in: makes sure that nothing in the user's project can take the place of our own modules.

A client starts us with the environment and the working folder of the user's project. With `PYTHONPATH=.` there, a
`rearview/`, a `queue.py` or a `types.py` of the project would be imported instead of ours or Python's.
"""

# ruff: noqa: PTH100, PTH120 - pathlib itself could be the project's, until our path is clean
import os
import sys


def main() -> int:
    """Run the command `mcp-rearview`."""
    _own_path()
    from rearview.cli.main import main as run

    return run()


def _own_path() -> None:
    """Take PYTHONPATH out of our own import path (a child still gets it), and put our folder first."""
    theirs = {""}
    for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        theirs |= {entry, _absolute(entry)}
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [here, *(entry for entry in sys.path if entry != here and entry not in theirs)]


def _absolute(entry: str) -> str:
    try:
        return os.path.abspath(entry)
    except OSError:
        # The working folder is gone.
        return entry
