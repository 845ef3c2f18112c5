"""The wrapped server: a process in a group of its own, with three pipes."""

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress

from rearview.errors import PeerError

EXIT_NOT_FOUND = 127
EXIT_NOT_EXECUTABLE = 126
EXIT_SIGNAL_BASE = 128

# Python ignores these two in itself; a child would inherit that.
_RESET_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)


class CommandError(PeerError):
    """The command can't be started; `exit_code` is what a shell would give."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Child:
    """A running server. `stdin`, `stdout` and `stderr` are our ends of its pipes, and ours to close."""

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.exit_code: int | None = None
        self._group_gone = False

    def has_exited(self) -> bool:
        """Reap the process if it has ended; then `exit_code` says how (128 + number for a signal)."""
        if self.exit_code is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                pid, status = self.pid, 0
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self.exit_code = code if code >= 0 else EXIT_SIGNAL_BASE - code
        return self.exit_code is not None

    def signal_group(self, number: int) -> bool:
        """Send a signal to the process and all that it started; return whether anyone was left to get it."""
        if self._group_gone:
            # The number may belong to somebody else by now.
            return False
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            self._group_gone = True
            return False
        except PermissionError:
            # A member runs as somebody else (sudo); the others got it.
            return True
        return True

    def end_group(self) -> None:
        """Ask all of them to end."""
        self.signal_group(signal.SIGTERM)

    def kill_group(self) -> None:
        """End all of them."""
        self.signal_group(signal.SIGKILL)

    def group_is_gone(self) -> bool:
        """Whether neither the process nor anything that it started is left in its group."""
        return self.has_exited() and not self.signal_group(0)

    def close(self) -> None:
        """Close our ends of the pipes."""
        for fd in {self.stdin, self.stdout, self.stderr} - {-1}:
            with suppress(OSError):
                os.close(fd)
        self.stdin = self.stdout = self.stderr = -1

    def close_stdin(self) -> None:
        """Tell the server that nothing more will come."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1


def start(command: Sequence[str], environment: Mapping[str, str]) -> Child:
    """Start `command` with the whole environment and our working folder; no shell.

    `posix_spawn` and not `subprocess`: that module alone would cost a third of our start-up.

    Raises:
        CommandError: there is no such command, or it is not executable.
    """
    theirs_in, ours_in = os.pipe()
    ours_out, theirs_out = os.pipe()
    ours_err, theirs_err = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate((theirs_in, theirs_out, theirs_err))]
    try:
        pid = os.posix_spawnp(
            command[0],
            list(command),
            dict(environment),
            file_actions=actions,
            setpgroup=0,
            setsigmask=(),
            setsigdef=_RESET_SIGNALS,
        )
    except OSError as error:
        for fd in (ours_in, ours_out, ours_err):
            os.close(fd)
        raise _command_error(command[0], error) from error
    finally:
        for fd in (theirs_in, theirs_out, theirs_err):
            os.close(fd)
    return Child(pid, ours_in, ours_out, ours_err)


def _command_error(name: str, error: OSError) -> CommandError:
    if isinstance(error, FileNotFoundError):
        remedy = "is it installed, and is its folder in the PATH that this client passes on?"
        return CommandError(f"command not found: {name}: {remedy}", EXIT_NOT_FOUND)
    return CommandError(f"can't start {name}: {error.strerror}", EXIT_NOT_EXECUTABLE)
