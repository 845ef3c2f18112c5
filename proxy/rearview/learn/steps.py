"""A call of a trajectory, read once, and what its failure blames."""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from rearview.learn.conditions import (
    GROUNDED,
    condition_of,
    conditions_of,
    forms_named_by,
    key_of,
    meets,
    named_by,
    parse,
    violations,
)
from rearview.learn.facets import Facets
from rearview.learn.issues import violations_named_by
from rearview.learn.model import CallRecord, ToolSchema, Trajectory
from rearview.learn.outside import OUTSIDE
from rearview_interceptors.api import FAILED, Condition, Grade, Kind

Schemas = Mapping[tuple[str, str], ToolSchema]
"""Tool schemas by server and tool."""

WHOLE_TOOL_ONLY = frozenset({Kind.TRANSIENT, Kind.RATE_LIMITED, Kind.ENVIRONMENT})
_WITHOUT_FORMS = frozenset({Kind.PRECONDITION})
_SCHEMA_KINDS = frozenset({Kind.ARGUMENT, Kind.OTHER})
_BOUND = frozenset({Condition.EXACT, Condition.VALUE, Condition.NAME})


_UNLISTED = ("lack:", "value:", "schema:")
_OF_FORM = ("class:", "shape:")
_WORDS = ("word", "words")
_BORDER = "=" + OUTSIDE


class Step:
    """One call with everything that is computed from it once."""

    def __init__(self, record: CallRecord, schemas: Schemas) -> None:
        schema = schemas.get((record.server, record.tool))
        self.record = record
        self.place = (record.server, record.tool)
        self.schema = schema.input_schema if schema else None
        self.facets = Facets(record.arguments)
        self.violated = violations(self.schema, record.arguments)
        self.failed = record.grade in FAILED
        self.mended: Facets | None = None
        """The next call of the tool that worked, if this one failed."""

    def meets(self, key: str) -> bool:
        """Whether the call meets a condition."""
        return meets(key, self.facets, self.record.digest, self.violated if self.schema else None)

    def met(self, known: Collection[str]) -> list[str]:
        """Those of many keys that the call meets; most by looking up its own keys, not by trying theirs. Sorted."""
        known = known if isinstance(known, (set, frozenset, dict)) else set(known)
        found = {key for key in self.listed if key in known}
        found.update(key for key in known if (key.startswith(_UNLISTED) or _BORDER in key) and self.meets(key))
        return sorted(found)

    @cached_property
    def listed(self) -> list[str]:
        """Every key that the call meets and that can be listed from the call alone."""
        facets = self.facets
        parts = [
            *((Condition.VALUE, part) for part in facets.values),
            *((Condition.NAME, ("", name)) for name in facets.names),
            *((Condition.KEY, part) for part in facets.classes | facets.types if "^" not in part[1]),
        ]
        found = [key for condition, part in parts if (key := key_of(condition, part))]
        return [*conditions_of(facets, self.record.digest), *sorted(found), *self.violated]


def steps_of(trajectory: Trajectory, schemas: Schemas) -> list[Step]:
    """The calls that had an outcome, in order; calls that we held had none."""
    steps = [
        Step(record, schemas)
        for record in trajectory.steps
        if (record.grade in FAILED or record.grade is Grade.OK) and not (record.said and record.said.channel == "hold")
    ]
    good: dict[tuple[str, str], Facets] = {}
    for step in reversed(steps):
        if step.failed:
            step.mended = good.get(step.place)
        else:
            good[step.place] = step.facets
    return steps


def environment_of(record: CallRecord, key: str) -> str:
    """The tag that a condition is bound to: names, values and folders mean something else in another project."""
    if condition_of(key) not in _BOUND and not is_folder(key):
        return ""
    return next((tag for tag in record.env if tag.startswith("project:")), "")


def blamed_keys(step: Step) -> dict[str, bool]:
    """The conditions that a failed call blames, each with whether the error itself pointed at it."""
    record, facets = step.record, step.facets
    kind = record.kind or Kind.OTHER
    named = set(forms_named_by(record.result, facets, kind, step.mended))
    return {
        key: key in named or (condition_of(key) in GROUNDED and not _is_optional(key, step.schema))
        for key in _blamed(step, kind, named)
    }


def _is_optional(key: str, schema: Mapping[str, Any] | None) -> bool:
    """Whether a missing key is one that the schema lets be missing: something else in the call made it necessary."""
    parsed = parse(key)
    if parsed is None or parsed.condition is not Condition.LACK or not isinstance(schema, Mapping):
        return False
    path, required, properties = parsed.parts[0][0], schema.get("required"), schema.get("properties")
    known = isinstance(properties, Mapping) and path in properties
    return known and not (isinstance(required, list) and path in required)


def _blamed(step: Step, kind: Kind, named: set[str]) -> list[str]:
    record, facets = step.record, step.facets
    exact = key_of(Condition.EXACT, ("", record.digest))
    if kind in WHOLE_TOOL_ONLY:
        return ["tool:"]
    if kind is Kind.EMPTY:
        return [exact]
    if kind is Kind.UNKNOWN_TOOL:
        return [exact, "tool:"]
    keys = [key for key in conditions_of(facets, record.digest) if key in named or not is_folder(key)]
    keys.extend(sorted(named.difference(keys)))
    if kind in _WITHOUT_FORMS:
        keys = [key for key in keys if condition_of(key) not in {Condition.CLASS, Condition.PATTERN}]
    grounded = named_by(record.result, facets, record.kind, step.schema)
    if _names_the_cause(grounded, facets):
        keys = [key for key in keys if key in named or not key.startswith(_OF_FORM)]
    keys.extend(grounded)
    if kind in _SCHEMA_KINDS:
        keys.extend(violations_named_by(record.result, record.arguments, step.violated))
    return keys


def _names_the_cause(grounded: list[str], facets: Facets) -> bool:
    """Whether the error itself says which key is missing or which word is wrong: then no form is to blame.

    It is that word, and not that a word stands there. Other forms stay, as the named value may be wrong by its form.
    """
    parsed = [each for key in grounded if (each := parse(key))]
    words = [path for each in parsed if each.condition is Condition.VALUE for path, _ in each.parts]
    return any(each.condition is Condition.LACK for each in parsed) or any(
        (path, name) in facets.classes for path in words for name in _WORDS
    )


def is_folder(key: str) -> bool:
    """Whether a condition is about folders: that a path is in one, or in none of some."""
    return key.startswith("class:") and ("=abspath^" in key or _BORDER in key)
