"""What holds for a call, as keys, and whether a call meets a key; the door to the whole key language."""

from collections.abc import Container

from rearview.learn.facets import Facets, json_type
from rearview.learn.grounding import forms_named_by, named_by
from rearview.learn.keys import (
    GROUNDED,
    ONLY_IF_KNOWN,
    Parsed,
    condition_of,
    escaped,
    field_of,
    key_of,
    parse,
    unescaped,
)
from rearview.learn.outside import is_outside, roots_of
from rearview.learn.preflight import violations
from rearview_interceptors.api import Condition

__all__ = [
    "GROUNDED",
    "ONLY_IF_KNOWN",
    "Parsed",
    "condition_of",
    "conditions_of",
    "escaped",
    "field_of",
    "forms_named_by",
    "key_of",
    "meets",
    "named_by",
    "parse",
    "unescaped",
    "violations",
]


def conditions_of(facets: Facets, digest: str) -> list[str]:
    """Keys of everything that holds for a call without an error to name it: exact, tool, shape, classes, patterns."""
    keys = [key_of(Condition.EXACT, ("", digest)), "tool:"]
    if facets.shape:
        keys.append(key_of(Condition.SHAPE, ("", facets.shape)))
    keys.extend(key_of(Condition.CLASS, part) for part in sorted(facets.classes))
    keys.extend(key_of(Condition.PATTERN, part) for part in sorted(facets.patterns))
    return [key for key in keys if key]


def meets(key: str, facets: Facets, digest: str = "", violated: Container[str] | None = None) -> bool:
    """Whether a call meets a condition.

    `violated` is what `violations` gives for the call; without it a schema condition is judged by the key alone, and
    one on an enumeration never holds.
    """
    parsed = parse(key)
    if parsed is None:
        return False
    if parsed.condition is Condition.EXACT:
        return bool(digest) and parsed.parts[0][1] == digest
    if parsed.condition is Condition.SCHEMA and violated is not None:
        return key in violated
    return all(_holds(parsed.condition, part, facets) for part in parsed.parts)


def _holds(condition: Condition, part: tuple[str, str], facets: Facets) -> bool:
    match condition:
        case Condition.SHAPE:
            held = part[1] == facets.shape
        case Condition.NAME:
            held = part[1] in facets.names
        case Condition.LACK:
            held = facets.lacks(part[0])
        case Condition.SCHEMA:
            held = _violates(*part, facets)
        case Condition.VALUE:
            held = part in facets.values
        case Condition.PATTERN:
            held = part in facets.patterns
        case Condition.CLASS:
            held = part in facets.classes or _is_outside(*part, facets)
        case _:
            held = part in facets.classes or part in facets.types
    return held


def _is_outside(path: str, name: str, facets: Facets) -> bool:
    roots = roots_of(name)
    return roots != () and any(is_outside(value, roots) for where, value in facets.leaves if where == path)


def _violates(path: str, what: str, facets: Facets) -> bool:
    if what == "required":
        return path not in facets.arguments
    if what == "extra":
        return path in facets.arguments
    name, _, kind = what.partition("=")
    return name == "type" and path in facets.arguments and json_type(facets.arguments[path]) == kind
