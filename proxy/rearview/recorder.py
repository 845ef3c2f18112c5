"""The relay's side of the journal: takes what a session observes, and starts the learner when there is work for it."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rearview.config import Config, JournalOptions
from rearview.log import report as to_stderr
from rearview.store.background import ensure_learner
from rearview.store.journal import Journal, Limits
from rearview.store.journal_lines import (
    Ended,
    Finished,
    Identity,
    Keep,
    LineEncoder,
    Opening,
    Restarted,
    ServerNamed,
    ToolsListed,
)
from rearview.store.state import StateFolder

LEARNER_EVERY_CALLS = 5000
"""A relay that is never idle asks for the learner all the same."""
CLOSE_SECONDS = 0.3
PROBLEMS_LIMIT_BYTES = 64 * 2**10
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Recorder:
    """Observes one session. Without a state folder it records nothing and still reports to standard error."""

    def __init__(
        self,
        config: Config,
        config_path: Path | None,
        state: StateFolder | None,
        server: str,
        env: Sequence[str],
        client: Callable[[], str],
    ) -> None:
        self.evaluated: Callable[[], int] = int
        self._state = state
        self._config_path = config_path
        self._learner = config.learner.enabled
        self._calls = 0
        started, relay = time.time(), os.urandom(8).hex()
        self._encoder = LineEncoder(
            Identity(relay, config.owner, server, tuple(env), os.getpid()),
            Keep(
                config.capture.result_chars,
                config.capture.email,
                lambda tool: config.capture_for(server, tool) == "narrow",
            ),
            client=client,
            clock=time.time,
            unix_minus_monotonic=time.time() - time.monotonic(),
        )
        name = (relay, os.getpid(), started)
        self._journal: Journal | None = None
        if state is not None:
            self._journal = Journal(
                state.journal,
                name,
                self._encode,
                limits=_limits_of(config.journal),
                report=self.report,
                opening=Opening(),
                on_idle=self._start_learner,
            )

    @property
    def finished(self) -> Callable[[Finished, int], None]:
        """What queues one finished call: the journal itself, since this happens for every call."""
        return _forgotten if self._journal is None else self._journal.put

    def on_server(self, client: Mapping[str, Any], server: Mapping[str, Any]) -> None:
        """Both sides have named themselves: a conversation begins."""
        self._put(ServerNamed(client, server))

    def on_tools(self, tools: list[Any]) -> None:
        """A list of tools has passed."""
        self._put(ToolsListed(tools))

    def on_restart(self, exit_code: int) -> None:
        """The server works again after it had ended; what it knew of this conversation is gone."""
        to_stderr("server.restarted", {"exit_code": exit_code, "state": "what the server knew of this session is gone"})
        self._put(Restarted(exit_code))

    def report(self, event: str, fields: Mapping[str, object]) -> None:
        """Say it on standard error, and keep it where `status` finds it."""
        to_stderr(event, fields)
        if self._state is None:
            return
        line = json.dumps({"at": time.time(), "pid": os.getpid(), "event": event, **fields}, default=str)
        try:
            handle = os.open(self._state.problems, _APPEND, 0o600)
        except OSError:
            return
        with suppress(OSError):
            if os.fstat(handle).st_size >= PROBLEMS_LIMIT_BYTES:
                # What is wrong now says more than what once was.
                os.ftruncate(handle, 0)
            os.write(handle, line.encode("utf-8", "replace") + b"\n")
        os.close(handle)

    def close(self) -> None:
        """Write what is queued and the relay's last line, within a moment."""
        if self._journal is None:
            return
        self._journal.close(CLOSE_SECONDS, lambda dropped: Ended(self.evaluated(), dropped))
        self._start_learner()

    def _put(self, item: Any) -> None:
        if self._journal is not None:
            self._journal.put(item, 1024)

    def _encode(self, item: Any) -> bytes | None:
        """Return the line of an item, on the journal's thread; that is the place for whatever may take a moment."""
        line = self._encoder(item)
        if type(item) is tuple:
            self._calls += 1
            if self._calls % LEARNER_EVERY_CALLS == 0:
                self._start_learner()
        return line

    def _start_learner(self) -> None:
        """Start the learner when nothing else happens: its own start takes a second of a processor."""
        if self._learner and self._calls and self._state is not None:
            ensure_learner(self._state, self._config_path)


def _limits_of(options: JournalOptions) -> Limits:
    return Limits(
        max_file_bytes=options.max_file_mb * 2**20,
        max_total_bytes=options.max_total_mb * 2**20,
        retention_days=options.retention_days,
        queue_records=options.queue_records,
    )


def _forgotten(item: Finished, size: int) -> None:
    """Nothing is kept without a state folder."""
