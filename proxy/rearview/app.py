"""Puts the parts of a relay together; the only module that knows everyone.

Whatever of our own can't be used (config, state folder, journal, lessons, an interceptor) is left out with one line on
standard error, and the relay relays.
"""

import importlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import orjson

from rearview.config import Capture as CaptureOptions
from rearview.config import Config, Warn, load
from rearview.core.calls import CallDesk, Reading, ToolFacts
from rearview.core.meeting import Observer
from rearview.core.speaking import Speaker
from rearview.core.task import TaskClock
from rearview.errors import ConfigError, StoreError
from rearview.learn.blake2 import blake2b
from rearview.learn.failure import outcome_of
from rearview.learn.knowledge import Knowledge, Tally
from rearview.learn.openings import quote_opens_plainly
from rearview.log import report
from rearview.recorder import Recorder
from rearview.store.lessons import LessonsFile
from rearview.store.state import StateFolder, digest_key, open_state, state_root
from rearview.transports.ancestry import client_process
from rearview.voice import SpokenWords
from rearview_interceptors.api import Call, Interceptor
from rearview_interceptors.capture import Capture
from rearview_interceptors.chain import Chain
from rearview_interceptors.warn import WarnOnKnownFailure

# Secrets that are told by their form are longer than any of these: short, or short words without digits.
_PLAIN_NAME = re.compile(r"[\w.-]{1,15}|(?:[A-Za-z]{1,15}[._-])+[A-Za-z]{1,15}")
_LOST_DIGITS = re.compile(rb"[:\[,]-?\d+(?:\.\d+)?e\+\d+[,\]}]")


class Relay:
    """What all conversations with one server share, and what makes the parts of each."""

    def __init__(
        self, config: Config, config_path: Path | None, server: str, command: Sequence[str], state: StateFolder | None
    ) -> None:
        env = (f"project:{_short_hash(_project())}", f"os:{os.uname().sysname.lower()}", *config.environment)
        self._config = config
        self._server = server
        self._env = env
        self._recorder = recorder = Recorder(config, config_path, state, server, env, client_process)
        self._interceptors = _loaded(config.interceptors, recorder.report)
        self._capture = Capture(recorder.finished, lambda s, t: config.capture_for(s, t) != "off")
        self._lessons = LessonsFile(state.lessons, recorder.report) if state else _NoLessons()
        self._tools: dict[str, ToolFacts] = {}
        self._voice = SpokenWords(self._tools, _bases(command), config.warn.locale)
        self._digest = _digester(state)
        self._tally = Tally()
        recorder.evaluated = lambda: self._tally.evaluated

    def parts(self, client: str = "") -> tuple[CallDesk, Observer]:
        """Return what judges and watches one conversation: it has the lessons of all, and its own memory of what failed
        and of what was said.

        `client` names the other side where that is not the process that started us.
        """
        config, tools = self._config, self._tools
        knowledge = Knowledge(
            self._lessons,
            config.owner,
            self._server,
            self._env,
            lambda tool: tool in tools and tools[tool].read_only,
            time.perf_counter,
            lambda tool: tools[tool].schema if tool in tools else None,
        )
        knowledge.tally = self._tally
        warn = WarnOnKnownFailure(knowledge.lookup, knowledge.explain, knowledge.memory.seen)
        report = self._recorder.report
        desk = CallDesk(
            self._server,
            Chain(self._interceptors, time.perf_counter, report, ours=(self._capture, warn)),
            Speaker(
                control_share=config.warn.control_share,
                budget=config.warn.budget_per_task,
                mode_for=lambda tool: config.mode_for(self._server, tool),
            ),
            voice=self._voice,
            reading=Reading(
                self._digest,
                outcome_of,
                quote_opens_plainly,
                knowledge.memory.tools,
                TaskClock(client or f"{os.getppid()}-{os.getpid()}-{time.time():.0f}", config.tasks.idle_gap_s),
                slim,
            ),
            tools=tools,
        )
        return desk, _Listener(self._recorder, knowledge.memory.forget)

    def close(self) -> None:
        """Write what is queued, within a moment."""
        self._recorder.close()


class _Listener:
    """Hears what one conversation learns of its server: a new one forgets what failed in the one before."""

    def __init__(self, recorder: Recorder, forget: Callable[[], None]) -> None:
        self._recorder = recorder
        self._forget = forget

    def on_server(self, client: Mapping[str, Any], server: Mapping[str, Any]) -> None:
        self._forget()
        self._recorder.on_server(client, server)

    def on_tools(self, tools: list[Any]) -> None:
        self._recorder.on_tools(tools)

    def on_restart(self, exit_code: int) -> None:
        self._forget()
        self._recorder.on_restart(exit_code)


def relay_for(server: str, config_file: str, command: Sequence[str], state_folder: str = "") -> Relay:
    """Return the parts of a relay for one wrapped server, by the user's settings; the folder is what `--state` names.

    Never raises: with settings that can't be read it neither stores nor says anything, since either could be against
    them; but the user's server must work all the same.
    """
    path = Path(config_file) if config_file else None
    try:
        config = load(path, Path(_project()), os.environ)
    except (ConfigError, OSError) as error:
        report("config.unusable", {"reason": str(error), "what_now": "relaying without capture and warnings"})
        return blind_relay(_stored_name(server), command)
    for note in config.notes:
        report("config.project_ignored", {"note": note})
    named = {"REARVIEW_STATE_DIR": state_folder} if state_folder else {}
    name = _stored_name(server)
    if name != server:
        config = _also_called(config, server, name)
    return Relay(config, path, name, command, _state({**os.environ, **named}))


def blind_relay(server: str, command: Sequence[str]) -> Relay:
    """Return a relay that neither stores nor says anything."""
    config = Config(owner="unknown", capture=CaptureOptions(mode="off"), warn=Warn(mode="observe"))
    return Relay(config, None, server, command, None)


def _stored_name(server: str) -> str:
    """Return the name with its secrets hidden: somebody may have typed one into it, and it is written everywhere."""
    if _PLAIN_NAME.fullmatch(server):
        return server
    from rearview_interceptors.redact import redact_text  # few names need it, and no start should wait for it

    return redact_text(server)


def _also_called(config: Config, server: str, name: str) -> Config:
    """Let what the settings say of a server hold for its name without secrets, too."""
    servers = {**config.servers, **({name: config.servers[server]} if server in config.servers else {})}
    project = config.project and _also_called(config.project, server, name)
    return config._replace(servers=servers, project=project)


class _NoLessons:
    """Stands in where there is no state folder to read lessons from."""

    def refresh(self, _now: float) -> bool:
        return False

    def for_tool(self, _owner: str, _server: str, _tool: str) -> tuple[()]:
        return ()


def _state(environ: Mapping[str, str]) -> StateFolder | None:
    try:
        return open_state(state_root(environ))
    except (StoreError, OSError) as error:
        report("state.unusable", {"reason": str(error), "what_now": "relaying without capture and lessons"})
        return None


def _digester(state: StateFolder | None) -> Callable[[str, Mapping[str, Any]], bytes]:
    try:
        key = digest_key(state) if state else os.urandom(32)
    except (StoreError, OSError) as error:
        report("state.key_unusable", {"reason": str(error)})
        key = os.urandom(32)

    # The key fills a whole block, which is compressed once and not at each call.
    keyed = blake2b(key=key, digest_size=16)

    def digest(tool: str, arguments: Mapping[str, Any]) -> bytes:
        try:
            text = orjson.dumps((tool, arguments), option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            # Lone surrogates and deep nesting: valid JSON that orjson refuses.
            text = repr((tool, arguments)).encode("utf-8", "surrogatepass")
        if b"null" in text and _has_no_number(arguments):
            # NaN and infinity, which orjson writes as null.
            text = json.dumps((tool, arguments), sort_keys=True, separators=(",", ":")).encode()
        if b"e+" in text and _LOST_DIGITS.search(text):
            # An integer beyond 64 bits has been read as a float: two that differ look alike, so none is the same.
            return os.urandom(16)
        call = keyed.copy()
        call.update(text)
        return call.digest()

    return digest


def _has_no_number(value: Any) -> bool:
    """Whether NaN or infinity is anywhere in a value that orjson could write."""
    if isinstance(value, float):
        return not isfinite(value)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(map(_has_no_number, inner))


def slim(call: Call) -> Call:
    """Return the call with its digest made and its large values cut, as the journal would."""
    from rearview_interceptors.redact import canonical

    return call._replace(seal=call.digest, arguments=canonical(call.arguments).value)


def _loaded(names: Sequence[str], report: Callable[[str, Mapping[str, object]], None]) -> list[Interceptor]:
    """Import the user's interceptors (`package.module:factory`); one that can't be had is left out and reported."""
    found = []
    for name in names:
        module, _, factory = name.partition(":")
        try:
            interceptor = getattr(importlib.import_module(module), factory)()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - around one interceptor; it is foreign code
            report("interceptor.not_loaded", {"name": name, "reason": f"{type(error).__name__}: {error}"})
            continue
        if isinstance(interceptor, Interceptor):
            found.append(interceptor)
        else:
            report("interceptor.not_loaded", {"name": name, "reason": "it is no rearview_interceptors.Interceptor"})
    return found


def _bases(command: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that the user's own command names: what a server was given to work in."""
    return tuple(word for word in command[1:] if word.startswith("/") and Path(word).is_dir())[:8]


def _project() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return "gone"


def _short_hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
