"""Reads one journal line into a typed record; a line that breaks the contract is `Unreadable`, whatever is wrong."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from rearview.learn.model import JOURNAL_VERSION, CallRecord, ToolSchema
from rearview_interceptors.api import Grade, Kind, Said

_CHANNELS = frozenset({"hold", "repeat", "hint", "control", "silent"})
_LARGEST_SEQ = 2**63 - 1


@dataclass(frozen=True, slots=True)
class RelayStarted:
    """The first line of a journal file; each file of a relay begins with it again."""

    relay: str
    at: float
    owner: str
    client: str
    server: str
    env: tuple[str, ...]
    pid: int
    started: float


@dataclass(frozen=True, slots=True)
class ServerNamed:
    """The server, and through the handshake the client, has said who it is."""

    relay: str
    at: float
    server: str
    server_version: str
    client_name: str
    client_version: str
    modern: bool


@dataclass(frozen=True, slots=True)
class ToolsListed:
    """A `tools/list` answer passed."""

    relay: str
    at: float
    server: str
    tools: tuple[ToolSchema, ...]


@dataclass(frozen=True, slots=True)
class ServerRestarted:
    """The server died and was started again."""

    relay: str
    at: float


@dataclass(frozen=True, slots=True)
class RelayEnded:
    """The relay's last line."""

    relay: str
    at: float
    dropped: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that can't be used; it is counted and passed over."""

    reason: str


JournalRecord: TypeAlias = (
    CallRecord | RelayStarted | ServerNamed | ToolsListed | ServerRestarted | RelayEnded | Unreadable
)


class _Broken(Exception):
    """A field is missing or of the wrong type."""


def _refuse(field: str) -> NoReturn:
    message = f"field {field} is missing or broken"
    raise _Broken(message)


def record_of(line: bytes) -> JournalRecord:
    """Read one line. A field that this version does not know is ignored; a newer journal version is unreadable."""
    try:
        # json, not orjson: orjson turns integers beyond 64 bits into floats and refuses lone surrogates.
        body = json.loads(line)
        if not isinstance(body, dict):
            return Unreadable("not an object")
        version = body.get("v")
        if version != JOURNAL_VERSION:
            return Unreadable("a journal version that this one does not know")
        return _record(body)
    except (ValueError, RecursionError):
        return Unreadable("not JSON")
    except _Broken as error:
        return Unreadable(str(error))


def _record(body: Mapping[str, Any]) -> JournalRecord:  # noqa: PLR0911 - one for each type
    relay, at = _text(body, "relay", needed=True), _number(body, "at")
    match body.get("t"):
        case "call":
            return _call(body, relay, at)
        case "relay":
            return RelayStarted(
                relay, at, _text(body, "owner", needed=True), _text(body, "client", needed=True), _text(body, "server"),
                _texts(body, "env"), _whole(body, "pid"), _number(body, "started", at),
            )  # fmt: skip
        case "server":
            return ServerNamed(
                relay, at, _text(body, "server"), _text(body, "server_version"), _text(body, "client_name"),
                _text(body, "client_version"), bool(body.get("modern")),
            )  # fmt: skip
        case "tools":
            return ToolsListed(relay, at, _text(body, "server", needed=True), _tools(body.get("tools")))
        case "boot":
            return ServerRestarted(relay, at)
        case "end":
            return RelayEnded(relay, at, _whole(body, "dropped"))
        case _:
            return Unreadable("a type of record that this version does not know")


def _call(body: Mapping[str, Any], relay: str, at: float) -> CallRecord:
    seq, arguments = body.get("seq"), body.get("arguments")
    if type(seq) is not int or not 0 < seq <= _LARGEST_SEQ:
        _refuse("seq")
    if not isinstance(arguments, dict):
        _refuse("arguments")
    try:
        grade = Grade(body.get("grade", ""))
        kind = Kind(body["kind"]) if body.get("kind") else None
    except ValueError:
        _refuse("grade or kind")
    return CallRecord(
        relay=relay, seq=seq, at=at, ms=max(0.0, _number(body, "ms", 0.0)), owner=_text(body, "owner", needed=True),
        client=_text(body, "client", needed=True), server=_text(body, "server"),
        server_version=_text(body, "server_version"), tool=_text(body, "tool"), arguments=arguments,
        digest=_text(body, "digest"), grade=grade, kind=kind, result=_text(body, "result"),
        task_ref=_text(body, "task_ref"), client_name=_text(body, "client_name"), env=_texts(body, "env"),
        said=_said(body.get("said")),
    )  # fmt: skip


def _said(value: object) -> Said | None:
    if isinstance(value, dict):
        value = (value.get("channel"), value.get("lesson"))
    match value:
        case None:
            return None
        case (str(channel), str(lesson)) if channel in _CHANNELS:
            return Said(channel, lesson)  # type: ignore[arg-type] # the guard has narrowed it
        case [str(channel), str(lesson)] if channel in _CHANNELS:
            return Said(channel, lesson)  # type: ignore[arg-type] # the guard has narrowed it
        case _:
            _refuse("said")


def _tools(value: object) -> tuple[ToolSchema, ...]:
    if not isinstance(value, list):
        _refuse("tools")
    found = []
    for tool in value:
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            schema = tool.get("input_schema")
            found.append(
                ToolSchema(
                    name=_storable(tool["name"]),
                    input_schema=schema if isinstance(schema, dict) else {},
                    output_schema=bool(tool.get("output_schema")),
                    read_only=bool(tool.get("read_only")),
                )
            )
    return tuple(found)


def _text(body: Mapping[str, Any], name: str, *, needed: bool = False) -> str:
    value = body.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value):
        _refuse(name)
    return _storable(value)


def _storable(text: str) -> str:
    """SQLite stores UTF-8, which has no lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = body.get(name) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        _refuse(name)
    return tuple(_storable(each) for each in value)


def _number(body: Mapping[str, Any], name: str, default: float | None = None) -> float:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(name)
    try:
        number = float(value)
    except OverflowError:
        _refuse(name)
    if not math.isfinite(number):
        _refuse(name)
    return number


def _whole(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name, 0)
    return value if type(value) is int and 0 <= value <= _LARGEST_SEQ else 0
