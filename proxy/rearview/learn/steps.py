"""A call of a trajectory, read once, and what its failure blames."""

from collections.abc import Collection, Mapping
from functools import cached_property

from rearview.learn.conditions import (
    GROUNDED,
    condition_of,
    conditions_of,
    forms_named_by,
    key_of,
    meets,
    named_by,
    violations,
)
from rearview.learn.facets import Facets
from rearview.learn.model import CallRecord, ToolSchema, Trajectory
from rearview_interceptors.api import FAILED, Condition, Grade, Kind

Schemas = Mapping[tuple[str, str], ToolSchema]
"""Tool schemas by server and tool."""

WHOLE_TOOL_ONLY = frozenset({Kind.TRANSIENT, Kind.RATE_LIMITED, Kind.ENVIRONMENT})
_WITHOUT_FORMS = frozenset({Kind.PRECONDITION})
_SCHEMA_KINDS = frozenset({Kind.ARGUMENT, Kind.OTHER})
_BOUND = frozenset({Condition.EXACT, Condition.VALUE, Condition.NAME})


_UNLISTED = ("lack:", "value:", "schema:")


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

    def meets(self, key: str) -> bool:
        """Whether the call meets a condition."""
        return meets(key, self.facets, self.record.digest, self.violated if self.schema else None)

    def met(self, known: Collection[str]) -> list[str]:
        """Those of many keys that the call meets; most by looking up its own keys, not by trying theirs. Sorted."""
        known = known if isinstance(known, (set, frozenset, dict)) else set(known)
        found = {key for key in self.listed if key in known}
        found.update(key for key in known if key.startswith(_UNLISTED) and self.meets(key))
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
    return [
        Step(record, schemas)
        for record in trajectory.steps
        if (record.grade in FAILED or record.grade is Grade.OK) and not (record.said and record.said.channel == "hold")
    ]


def environment_of(record: CallRecord, condition: Condition | None) -> str:
    """The tag that a condition is bound to: names and values mean something else in another project."""
    if condition not in _BOUND:
        return ""
    return next((tag for tag in record.env if tag.startswith("project:")), "")


def blamed_keys(step: Step) -> dict[str, bool]:
    """The conditions that a failed call blames, each with whether the error itself pointed at it."""
    record, facets = step.record, step.facets
    kind = record.kind or Kind.OTHER
    named = set(forms_named_by(record.result, facets, kind))
    return {key: key in named or condition_of(key) in GROUNDED for key in _blamed(step, kind, named)}


def _blamed(step: Step, kind: Kind, named: set[str]) -> list[str]:
    record, facets = step.record, step.facets
    exact = key_of(Condition.EXACT, ("", record.digest))
    if kind in WHOLE_TOOL_ONLY:
        return ["tool:"]
    if kind is Kind.EMPTY:
        return [exact]
    if kind is Kind.UNKNOWN_TOOL:
        return [exact, "tool:"]
    keys = [key for key in conditions_of(facets, record.digest) if key in named or not _is_folder(key)]
    if kind in _WITHOUT_FORMS:
        keys = [key for key in keys if condition_of(key) not in {Condition.CLASS, Condition.PATTERN}]
    keys.extend(named_by(record.result, facets, record.kind, step.schema))
    if kind in _SCHEMA_KINDS:
        keys.extend(step.violated)
    return keys


def _is_folder(key: str) -> bool:
    return key.startswith("class:") and "=abspath^" in key
