"""Sees to it that one learner at a time works on a state folder, and that a newer version gets its turn."""

import fcntl
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rearview.errors import StoreError
from rearview.store.state import StateFolder, replace_file

_TRIES = 6
_PAUSE_SECONDS = 0.03
_ANY = "any"
_PID_AND_VERSION = 2
TAKEOVER_WAIT_SECONDS = 30.0


class LearnerLock:
    """The lock of a state folder, held until `release` or until the process is gone, however it goes."""

    def __init__(self, state: StateFolder, version: str, handle: int) -> None:
        self._path = state.lock
        self._request = _request_file(state)
        self._version = version
        self._handle = handle

    def must_leave(self) -> bool:
        """Tell whether a newer version, or somebody in a hurry, waits for this learner to end."""
        return self._wanted() == _ANY or self.is_outdated()

    def is_lost(self) -> bool:
        """Tell whether the lock file is gone, and the state folder with it: another learner may have the new one."""
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(self._handle))
        except OSError:
            return True

    def is_outdated(self) -> bool:
        """Tell whether a newer version waits."""
        return is_newer(self._wanted(), self._version)

    def _wanted(self) -> str:
        try:
            return self._request.read_text("utf-8", "replace").strip()
        except OSError:
            return ""

    def release(self) -> None:
        """Let the next one work."""
        os.close(self._handle)


def acquire(
    state: StateFolder, version: str, wait_s: float = TAKEOVER_WAIT_SECONDS, *, hurry: bool = False
) -> LearnerLock | None:
    """Take the lock, or return None if a learner of this version or a newer one has it.

    An older learner, and with `hurry` one of this version, is asked to leave, and waited for; it finishes the batch
    that it is at.

    Raises:
        StoreError: the lock file can't be opened, or the older learner did not leave within `wait_s`.
    """
    try:
        handle = os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        message = f"The lock {state.lock} can't be opened ({error.strerror}): fix the permissions of the state folder"
        raise StoreError(message) from error
    # Whoever only asks whether a learner runs holds the lock for an instant: one refusal means nothing.
    if _locked_within(handle, _TRIES * _PAUSE_SECONDS):
        return _taken(state, version, handle)
    holder = os.pread(handle, 200, 0).decode("utf-8", "replace").split()
    if len(holder) != _PID_AND_VERSION or is_newer(holder[1], version) or not (hurry or is_newer(version, holder[1])):
        os.close(handle)
        return None
    _ask(_request_file(state), _ANY if hurry else version)
    if not _locked_within(handle, wait_s):
        os.close(handle)
        message = f"The learner of version {holder[1]} (process {holder[0]}) does not leave: end it, then try again"
        raise StoreError(message)
    return _taken(state, version, handle)


def is_newer(version: str, other: str) -> bool:
    """Compare two versions; a pre-release is older than its release, and what is no version is older than all."""
    return _rank(version) > _rank(other)


def _rank(version: str) -> tuple[tuple[int, ...], bool, str]:
    found = re.match(r"\d+(\.\d+)*", version)
    if found is None:
        return (), False, ""
    rest = version[found.end() :]
    # 1.2.0 and 1.2 are one version.
    numbers = [int(part) for part in found[0].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), not rest or rest.startswith((".post", "+")), rest


def _taken(state: StateFolder, version: str, handle: int) -> LearnerLock:
    # Who holds it is for others to read; on a full disk the lock holds all the same.
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {version}\n".encode(), 0)
    lock = LearnerLock(state, version, handle)
    # A request that a still newer version made stays; any other has been answered by this.
    if not lock.is_outdated():
        with suppress(OSError):
            _request_file(state).unlink(missing_ok=True)
    return lock


def _ask(path: Path, version: str) -> None:
    try:
        replace_file(path, f"{version}\n".encode())
    except OSError as error:
        message = f"The request {path} can't be written ({error.strerror}): fix the permissions of the state folder"
        raise StoreError(message) from error


def _request_file(state: StateFolder) -> Path:
    return state.root / "learner.takeover"


def _locked_within(handle: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> bool:
    until = clock() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if clock() >= until:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True
