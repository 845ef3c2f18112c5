"""How calls, tool schemas and lessons become rows of the ledger and come back from them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, get_args

from sqlalchemy import Row

from rearview.learn.model import CallRecord, ScopedLesson, ToolSchema
from rearview_interceptors.api import Condition, Fix, FixAction, Grade, Kind, Lesson, Said


def row_of(call: CallRecord) -> dict[str, Any]:
    """Return the row of a call; which trajectory it belongs to is decided later."""
    return {
        "relay": call.relay,
        "seq": call.seq,
        "at": call.at,
        "ms": call.ms,
        "owner": call.owner,
        "client": call.client,
        "server": call.server,
        "server_version": call.server_version,
        "tool": call.tool,
        "arguments": json.dumps(call.arguments),
        "digest": call.digest,
        "grade": call.grade.value,
        "kind": call.kind.value if call.kind else None,
        "result": call.result,
        "task_ref": call.task_ref,
        "client_name": call.client_name,
        "env": text_of(call.env),
        "channel": call.said.channel if call.said else None,
        "lesson": call.said.lesson if call.said else None,
    }


def call_of(row: Row[Any]) -> CallRecord:
    """Return the call of a row of `records`."""
    return CallRecord(
        relay=row.relay, seq=row.seq, at=row.at, ms=row.ms, owner=row.owner, client=row.client, server=row.server,
        server_version=row.server_version, tool=row.tool, arguments=json.loads(row.arguments), digest=row.digest,
        grade=Grade(row.grade), kind=_kind(row.kind), result=row.result, task_ref=row.task_ref,
        client_name=row.client_name, env=tuple(json.loads(row.env)),
        said=Said(row.channel, row.lesson) if row.channel else None,
    )  # fmt: skip


def _kind(name: str | None) -> Kind | None:
    if name is None:
        return None
    try:
        return Kind(name)
    except ValueError:
        return Kind.OTHER


def schema_of(row: Row[Any]) -> ToolSchema:
    """Return the schema of a row of `tools`."""
    return ToolSchema(row.tool, json.loads(row.input_schema), bool(row.output_schema), bool(row.read_only))


def text_of(tags: Iterable[str]) -> str:
    """Return tags as the ledger keeps them."""
    return json.dumps(list(tags))


def lesson_to_json(lesson: Lesson) -> dict[str, Any]:
    """Return a lesson as plain JSON, for a row and for an export alike."""
    return asdict(lesson)


def lesson_from_json(body: Mapping[str, Any]) -> Lesson:
    """Read a lesson from plain JSON that anybody may have written; unknown fields are ignored.

    Raises:
        ValueError: a field is missing, of the wrong type, or out of its range.
    """
    try:
        lesson = Lesson(
            id=_text(body["id"]), condition=Condition(body["condition"]), key=_text(body["key"]),
            field=_text(body["field"]), kind=Kind(body["kind"]), failed=_whole(body["failed"]),
            met=_whole(body["met"]), last_seen=_number(body["last_seen"]), score=_number(body["score"]),
            loud=body["loud"] is True, fixes=tuple(_fix(each) for each in body.get("fixes", ())),
            good_form=_text(body.get("good_form", "")),
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError) as error:
        message = f"not a lesson: {error}"
        raise ValueError(message) from error
    if not 0 <= lesson.score <= 1 or lesson.failed > lesson.met:
        message = "not a lesson: its numbers contradict each other"
        raise ValueError(message)
    return lesson


def scoped_of(row: Row[Any]) -> ScopedLesson | None:
    """Return the lesson of a row of `lessons`; None for one of a kind that only another version knows."""
    try:
        return ScopedLesson(row.owner, row.server, row.tool, lesson_from_json(json.loads(row.body)), row.env)
    except ValueError:
        return None


def _fix(body: Mapping[str, Any]) -> Fix:
    if body["action"] not in get_args(FixAction):
        message = "not a lesson: an unknown fix"
        raise ValueError(message)
    return Fix(body["action"], _text(body.get("field", "")), _text(body.get("to", "")), _whole(body["trajectories"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        message = f"text expected, not {type(value).__name__}"
        raise TypeError(message)
    return value


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**53:
        message = "a count expected"
        raise TypeError(message)
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 2**53:  # noqa: PLR0124 - NaN
        message = "a number expected"
        raise TypeError(message)
    return float(value)
