"""The tools of the demo server and how they fail: missing fields, dates that are none, paths outside of its folder."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PYDANTIC_URL = "https://errors.pydantic.dev/2.14/v"
SHOWN_CHARS = 50
ROOMS = ("Blue", "Green", "Garden")

TEXT = {"type": "string"}
DATE = {"type": "string", "format": "date"}
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

TOOLS: Mapping[str, tuple[str, Mapping[str, Any], bool]] = {
    "list_rooms": ("Lists the rooms that can be booked.", {}, True),
    "book_room": ("Books a room for a day.", {"room": TEXT, "date": DATE}, False),
    "read_file": ("Reads a text file of the office.", {"path": TEXT}, True),
    "append_note": ("Adds one line to a file of the office.", {"path": TEXT, "text": TEXT}, False),
}


class ToolError(Exception):
    """The tool ran and failed; its text goes to the model."""


class UnknownTool(Exception):
    """There is no tool of that name."""


class Office:
    """All state is files under `root`; `note` is told of each call before it runs."""

    def __init__(self, root: Path, note: Callable[[str, Mapping[str, Any]], None]) -> None:
        self._root = root.resolve()
        self._note = note

    def tools(self) -> list[dict[str, Any]]:
        """What `tools/list` says."""
        return [
            {
                "name": name,
                "description": description,
                "inputSchema": {
                    "type": "object",
                    "properties": {field: {"title": field.title(), **kind} for field, kind in fields.items()},
                    **({"required": list(fields)} if fields else {}),
                    "title": f"{name}Arguments",
                },
                "annotations": {"readOnlyHint": read_only},
            }
            for name, (description, fields, read_only) in TOOLS.items()
        ]

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Run one tool.

        Raises:
            UnknownTool: there is none of that name.
            ToolError: the arguments are wrong, or what they name is not there.
        """
        self._note(tool, arguments)
        if tool not in TOOLS:
            raise UnknownTool(tool)
        _check(tool, arguments)
        match tool:
            case "book_room":
                return self._book(arguments["room"], arguments["date"])
            case "read_file":
                return self._read(arguments["path"])
            case "append_note":
                return self._append(arguments["path"], arguments["text"])
            case _:
                return "\n".join(ROOMS)

    def _book(self, room: str, date: str) -> str:
        if room not in ROOMS:
            message = f"Room not found: {room}"
            raise ToolError(message)
        return f"Booked {room} on {date}."

    def _read(self, path: str) -> str:
        file = self._inside(path)
        try:
            return file.read_text("utf-8")
        except OSError as error:
            message = f"ENOENT: no such file or directory, open '{path}'"
            raise ToolError(message) from error

    def _append(self, path: str, text: str) -> str:
        with self._inside(path).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
        return f"Added one line to {path}."

    def _inside(self, path: str) -> Path:
        # Like most servers it does not guess what a relative path is relative to.
        file = Path(path)
        if not file.is_absolute() or not file.resolve().is_relative_to(self._root):
            message = f"Access denied - path outside allowed directories: {path} not in {self._root}"
            raise ToolError(message)
        return file


def _check(tool: str, arguments: Mapping[str, Any]) -> None:
    problems: list[str] = []
    for field, kind in TOOLS[tool][1].items():
        if field not in arguments:
            problems.append(_problem(field, "Field required", "missing", arguments))
        elif not isinstance(arguments[field], str):
            problems.append(_problem(field, "Input should be a valid string", "string_type", arguments[field]))
        elif kind is DATE and not _is_date(arguments[field]):
            why = "Input should be a valid date or datetime, invalid character in year"
            problems.append(_problem(field, why, "date_from_datetime_parsing", arguments[field]))
    if problems:
        plural = "s" if len(problems) > 1 else ""
        message = f"{len(problems)} validation error{plural} for {tool}Arguments\n" + "\n".join(problems)
        raise ToolError(message)


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return ISO_DATE.fullmatch(text) is not None


def _problem(field: str, why: str, code: str, value: object) -> str:
    shown = repr(value)
    if len(shown) > SHOWN_CHARS:
        shown = f"{shown[:25]}...{shown[-24:]}"
    return (
        f"{field}\n  {why} [type={code}, input_value={shown}, input_type={type(value).__name__}]\n"
        f"    For further information visit {PYDANTIC_URL}/{code}"
    )
