"""What to do instead of a call that is known to fail, as facts without words."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rearview.learn.conversions import to_absolute, to_form, to_member, to_path, to_type
from rearview.learn.identifiers import safe_field, safe_identifier
from rearview.learn.speakable import (
    class_at,
    in_schema,
    shown_field,
    shown_member,
    shown_name,
    shown_path,
    shown_value,
    values_at,
)
from rearview.learn.violations import Violation, types_of, violations_of
from rearview_interceptors.api import Call, Condition, Fix, Kind, Lesson

PROVEN_TRAJECTORIES = 2
_REMEDIES_LIMIT = 4
_MEMBERS_LIMIT = 6
_MEMBERS_CHARS = 60
_PATH_CLASSES = frozenset({"abspath", "relpath"})
_SCHEMA_KINDS = frozenset({Kind.ARGUMENT, Kind.OTHER})
_SCHEMA_CONDITIONS = frozenset({Condition.SCHEMA, Condition.LACK, Condition.KEY})


class ToolView(NamedTuple):
    """What this session knows of a tool: `schema` is its `inputSchema`, `bases` are folders that it was given."""

    schema: Mapping[str, Any] | None = None
    bases: tuple[str, ...] = ()


class Remedy(NamedTuple):
    """`says` names a sentence of the language tables; `field`, `to` and `form` fill it. `once`: seen in one run only.

    `field` and `to` were checked and may be printed; `form` is a key of the tables or a mask, to be put in words.
    """

    says: str
    field: str = ""
    to: str = ""
    form: str = ""
    once: bool = False


def remedies_of(lesson: Lesson, call: Call, view: ToolView) -> tuple[Remedy, ...]:
    """The best remedies first, at most four that go together; empty when only the kind can say something.

    Order: fixes seen in two runs, what the schema says, fixes seen once, the form of good values, folders.
    """
    proven = [fix for fix in lesson.fixes if fix.trajectories >= PROVEN_TRAJECTORIES]
    seen_once = [fix for fix in lesson.fixes if fix.trajectories < PROVEN_TRAJECTORIES]
    for found in (
        _by_fixes(proven, call, view),
        _by_schema(lesson, call, view),
        _by_fixes(seen_once, call, view),
        _by_form(lesson.good_form, lesson.field, call, view),
        _by_folder(lesson, call, view),
    ):
        if remedies := tuple(dict.fromkeys(found))[:_REMEDIES_LIMIT]:
            return remedies
    return ()


def _by_fixes(fixes: list[Fix], call: Call, view: ToolView) -> Iterator[Remedy]:
    # The strongest fix, and others of the same action: two renames belong together, a rename and a conversion may not.
    first = ""
    for fix in sorted(fixes, key=lambda fix: -fix.trajectories):
        if (remedy := _by_fix(fix, call, view)) and first in ("", fix.action):
            first = fix.action
            yield remedy._replace(once=fix.trajectories < PROVEN_TRAJECTORIES)


def _by_fix(fix: Fix, call: Call, view: ToolView) -> Remedy | None:
    arguments = call.arguments
    field = shown_field(fix.field, arguments, view.schema) or ""
    own = bool(values_at(arguments, fix.field)) if field else False
    remedy: Remedy | None = None
    match fix.action:
        case "rename" if own and _is_key(fix.to, view) and not values_at(arguments, fix.to):
            remedy = Remedy("rename", field, fix.to)
        case "add" if _is_key(fix.field, view) and not values_at(arguments, fix.field):
            remedy = Remedy("add", fix.field, form=_type_of(fix.field, view) or fix.to)
        case "drop" if own:
            remedy = Remedy("drop", field)
        case "type" if own:
            remedy = _typed(field, values_at(arguments, field), fix.to)
        case "convert" if own:
            remedy = next(_by_form(fix.to, field, call, view), None)
        case "prefix" if own and (prefix := shown_path(fix.to)):
            remedy = _joined(field, call, prefix) or Remedy("inside", field, prefix)
        case "known_name" if field and (name := shown_name(fix.to)) and name not in values_at(arguments, field):
            remedy = Remedy("known_name", field, name)
        case "call_first" if safe_identifier(fix.to):
            remedy = Remedy("call_first", to=fix.to)
        case "wait":
            remedy = Remedy("wait")
    return remedy


def _is_key(path: str, view: ToolView) -> bool:
    """Whether a path may be offered as a key: plain, and one that the schema has, as far as it can be looked up."""
    properties = view.schema.get("properties") if isinstance(view.schema, Mapping) else None
    stated = isinstance(properties, Mapping) and bool(properties)
    return safe_field(path) and (not stated or "." in path or in_schema(path, view.schema))


def _by_schema(lesson: Lesson, call: Call, view: ToolView) -> Iterator[Remedy]:
    if lesson.kind not in _SCHEMA_KINDS and lesson.condition not in _SCHEMA_CONDITIONS:
        return
    found = [each for each in violations_of(call.arguments, view.schema) if safe_field(each.path)]
    blamed = [each for each in found if each.path == lesson.field]
    if blamed and blamed[0].what in ("type", "enum"):
        found = blamed
    renames = dict(_renames(found))
    for each in found:
        if each.what == "extra" and each.path not in renames and not _matters(each, found, lesson):
            continue
        if each.path in renames:
            yield Remedy("rename", each.path, renames[each.path])
        elif each.path not in renames.values() and (remedy := _of_violation(each)):
            yield remedy


def _matters(extra: Violation, found: list[Violation], lesson: Lesson) -> bool:
    """Most servers pass over a key that they don't know; it is worth a word if something else tells of it, too."""
    forbidden = extra.schema.get("additionalProperties") is False
    return forbidden or extra.path == lesson.field or any(each.what == "missing" for each in found)


def _of_violation(each: Violation) -> Remedy | None:
    if each.what == "missing":
        return Remedy("add", each.path, form=_only(types_of(each.schema)))
    if each.what == "extra":
        return Remedy("drop", each.path)
    if each.what == "type":
        wanted = _only(types_of(each.schema))
        return _typed(each.path, [each.value], wanted) if wanted else None
    members = each.schema.get("enum")
    members = members if isinstance(members, list) else []
    if shown := shown_member(to_member(each.value, members)):
        return Remedy("write", each.path, shown)
    named = [name for member in members if (name := shown_member(member))]
    listed = "`, `".join(named)
    if named and len(named) == len(members) <= _MEMBERS_LIMIT and len(listed) <= _MEMBERS_CHARS:
        return Remedy("one_of", each.path, listed)
    return Remedy("listed", each.path)


def _renames(found: list[Violation]) -> Iterator[tuple[str, str]]:
    """Extra keys and the missing keys that they were meant to be: by name, or the only one of each."""
    missing = [each for each in found if each.what == "missing"]
    extra = [each for each in found if each.what == "extra"]
    alone = len(missing) == 1 and len(extra) == 1
    taken: set[str] = set()
    for wanted in missing:
        near = [
            other
            for other in extra
            if other.path not in taken
            and other.path.rpartition(".")[0] == wanted.path.rpartition(".")[0]
            and _could_be(other.value, wanted.schema)
            and (alone or _alike(other.path.rpartition(".")[2], wanted.path.rpartition(".")[2]))
        ]
        if len({other.path for other in near}) == 1:
            taken.add(near[0].path)
            yield near[0].path, wanted.path


def _could_be(value: Any, schema: Mapping[str, Any]) -> bool:
    types = types_of(schema)
    name = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return not types or name.get(type(value)) in types or (type(value) is int and "number" in types)


def _alike(one: str, other: str) -> bool:
    one, other = (name.lower().replace("_", "").replace("-", "") for name in (one, other))
    short, long = sorted((one, other), key=len)
    return len(short) > 1 and (short in long or long[:3] == short[:3])


def _typed(field: str, values: list[Any], wanted: str) -> Remedy | None:
    if len(values) == 1:
        converted = to_type(values[0], wanted)
        if converted is not None and (shown := shown_value(converted)):
            return Remedy("write_typed", field, shown, wanted)
    return Remedy("as_form", field, form=wanted)


def _by_form(form: str, field: str, call: Call, view: ToolView) -> Iterator[Remedy]:
    field = shown_field(field, call.arguments, view.schema) or ""
    values = values_at(call.arguments, field) if field else []
    form = form.partition("^")[0]
    if not form or not values or form.startswith("@"):
        return
    if form == "abspath" and len(values) == 1:
        joined = _joined(field, call, *view.bases) if len(view.bases) == 1 else None
        if joined:
            yield joined
            return
    if len(values) == 1:
        converted = to_form(values[0], form) or to_path(values[0], form)
        if converted and (shown := shown_value(converted)):
            yield Remedy("write", field, shown)
            return
    if class_at(call.arguments, field) != form:
        yield Remedy("as_form", field, form=form)


def _joined(field: str, call: Call, base: str = "") -> Remedy | None:
    values = values_at(call.arguments, field)
    whole = to_absolute(values[0], base) if len(values) == 1 else None
    return Remedy("write", field, whole) if whole and shown_path(whole) else None


def _by_folder(lesson: Lesson, call: Call, view: ToolView) -> Iterator[Remedy]:
    field = shown_field(lesson.field, call.arguments, view.schema)
    if field is None or class_at(call.arguments, field) not in _PATH_CLASSES:
        return
    if lesson.kind not in (Kind.FORBIDDEN, Kind.NOT_FOUND) or len(view.bases) != 1:
        return
    if joined := _joined(field, call, view.bases[0]):
        yield joined
    elif lesson.kind is Kind.FORBIDDEN and (base := shown_path(view.bases[0])):
        yield Remedy("inside", field, base)


def _type_of(path: str, view: ToolView) -> str:
    properties = view.schema.get("properties") if isinstance(view.schema, Mapping) else None
    stated = properties.get(path) if isinstance(properties, Mapping) else None
    return _only(types_of(stated, view.schema)) if isinstance(stated, Mapping) else ""


def _only(types: frozenset[str]) -> str:
    stated = types - {"null"}
    return next(iter(stated)) if len(stated) == 1 else ""
