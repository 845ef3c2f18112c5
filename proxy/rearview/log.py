"""Where events go: the learner's log file as JSON lines, and the relay's few reports on standard error.

The relay's part imports nothing that it has not imported anyway; `structlog` is loaded only by those who log.
"""

import json
import os
import select
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LOG_LIMIT_BYTES = 1_000_000
_PIPE_BUF_BYTES = 4096
"""What a pipe that polls as writable takes without blocking."""


def report(event: str, fields: Mapping[str, object]) -> None:
    """Write one JSON line to standard error. Never raises or waits; where it can't be written now, it is lost."""
    line = json.dumps({"rearview": event, **fields}, default=str)[: _PIPE_BUF_BYTES - 1]
    try:
        # A client may leave standard error unread: in a full pipe the write would wait for ever.
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if poll.poll(0):
            os.write(2, f"{line}\n".encode("ascii", "replace"))
    except OSError:
        return


class LogFile:
    """Appends lines to a file, mode 0600, and begins a new one when it is full; one old file is kept.

    A log that can't be written is no reason to stop: the line is lost and counted.
    """

    def __init__(self, path: "Path", limit: int = LOG_LIMIT_BYTES) -> None:
        self.lost = 0
        self._path = path
        self._limit = limit
        self._handle = -1

    def msg(self, message: str) -> None:
        """Append one line."""
        try:
            if self._handle < 0:
                self._handle = self._open()
            if os.fstat(self._handle).st_size >= self._limit:
                self.close()
                self._path.replace(self._path.with_name(self._path.name + ".1"))
                self._handle = self._open()
            os.write(self._handle, f"{message}\n".encode("utf-8", "replace"))
        except OSError:
            self.lost += 1

    log = debug = info = warning = error = critical = exception = fatal = failure = warn = msg

    def close(self) -> None:
        """Let go of the file; the next line opens it again."""
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            os.close(handle)

    def _open(self) -> int:
        # Non-blocking: a pipe in the place of the file would stop whoever opens it.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(self._path, flags, 0o600)


def learner_log(target: LogFile) -> Any:
    """Return a structlog logger that writes JSON lines to `target`. Never give it arguments or results of a call."""
    import structlog  # only the learner pays for it

    return structlog.wrap_logger(target, processors=_processors(), wrapper_class=structlog.BoundLogger, pid=os.getpid())


def _processors() -> list[Any]:
    import structlog  # as above

    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.JSONRenderer(default=str),
    ]


def place_of(error: BaseException) -> str:
    """Return where an exception was raised: its message is not logged, because it may quote somebody's arguments."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
