"""Does what a warning says, as an agent would that reads it: from the words alone."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_SAID = {
    "rename": re.compile(r"[Ww]rite `(?P<to>[^`]+)` instead of `(?P<field>[^`]+)`"),
    "add": re.compile(r"[Aa]dd `(?P<field>[^`]+)`"),
    "drop": re.compile(r"[Ll]eave out `(?P<field>[^`]+)`"),
    "write": re.compile(r"[Ww]rite `(?P<field>[^`]+)` as (?:(?P<form>[^`.:]+): )?`(?P<to>[^`]+)`"),
    "form": re.compile(r"[Ww]rite `(?P<field>[^`]+)` as (?P<form>[^`.:]+)\."),
    "one_of": re.compile(r"`(?P<field>[^`]+)` takes one of `(?P<to>[^.]+)`\."),
    "inside": re.compile(r"[Uu]se a path inside the folder the server was given \(`(?P<to>[^`]+)`\)"),
    "known": re.compile(r"[Ii]n `(?P<field>[^`]+)`, the name `(?P<to>[^`]+)` has worked here"),
    "check": re.compile(r"[Cc]heck first that what `(?P<field>[^`]+)` names exists"),
}
"""Sentences that say what to do; the groups are what the agent takes from them."""


class NoRemedy(AssertionError):
    """The warning says nothing that can be done."""


def follow(text: str, wrong: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Change a call as a warning says.

    What only the agent can know it takes from `wanted`, the call that it had in mind, and only where the warning asks
    for that very argument.

    Raises:
        NoRemedy: nothing in the text can be done.
    """
    changed = dict(wrong)
    found = list(_sentences(text))
    for said, part in found:
        if said == "rename":
            changed[part["to"]] = changed.pop(part["field"])
        elif said == "drop":
            del changed[part["field"]]
        elif said == "inside":
            changed |= _inside(part["to"], wrong, wanted)
        else:
            changed[part["field"]] = _value(said, part, wanted)
    if not found:
        raise NoRemedy(text)
    return changed


def _value(said: str, part: Mapping[str, str], wanted: Mapping[str, Any]) -> Any:
    if said in {"add", "check"}:
        return wanted[part["field"]]
    if said == "form":
        return _in_form(part["form"], wanted[part["field"]])
    if said == "one_of":
        return part["to"].split("`, `")[0]
    return _read(part["to"], part.get("form"))


def _sentences(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    for said, pattern in _SAID.items():
        for found in pattern.finditer(text):
            yield said, found.groupdict()


def _read(written: str, form: str | None) -> Any:
    return json.loads(written) if form in {"a list", "a number", "a whole number", "an object"} else written


def _in_form(form: str, value: Any) -> Any:
    """What the agent had in mind, if it has the form that the warning names."""
    fits = {
        "an absolute path": lambda: value.startswith("/"),
        "a list": lambda: isinstance(value, list),
        "a number": lambda: isinstance(value, int),
        "a whole number": lambda: isinstance(value, int),
    }
    if not fits[form]():
        raise NoRemedy(form)
    return value


def _inside(folder: str, wrong: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    changed = {key: wanted[key] for key in wrong if wanted[key] != wrong[key]}
    if not all(str(value).startswith(folder) for value in changed.values()):
        raise NoRemedy(folder)
    return changed
