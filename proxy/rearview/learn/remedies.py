"""What to do instead of a call that is known to fail, as facts without words."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from rearview.learn.conversions import to_absolute, to_form, to_member, to_path, to_type
from rearview.learn.identifiers import safe_field, safe_identifier
from rearview.learn.outside import OUTSIDE
from rearview.learn.renames import renames_of
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
_PATH_CLASSES = frozenset({"abspath", "relpath", "uppath", "homepath"})
_OF_KEYS = frozenset({"rename", "add", "drop"})
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
        _by_wrong_value(lesson, call, view),
        _by_fixes(proven, call, view),
        _by_schema(lesson, call, view),
        _by_fixes(seen_once, call, view),
        *_by_place_or_form(lesson, call, view),
    ):
        if remedies := tuple(dict.fromkeys(found)):
            return (*remedies, *_besides(remedies, lesson, call, view))[:_REMEDIES_LIMIT]
    return ()


def _by_place_or_form(lesson: Lesson, call: Call, view: ToolView) -> tuple[Iterator[Remedy], Iterator[Remedy]]:
    """Of a path that is refused for where it is, the place first: written in another form it is still there."""
    of_form = _by_form(lesson.good_form, lesson.field, call, view)
    of_place = _by_folder(lesson, call, view)
    return (of_place, of_form) if _is_about_folders(lesson) else (of_form, of_place)


def _is_about_folders(lesson: Lesson) -> bool:
    return "=abspath^" in lesson.key or OUTSIDE in lesson.key


def _besides(said: tuple[Remedy, ...], lesson: Lesson, call: Call, view: ToolView) -> Iterator[Remedy]:
    """Where a key is wrong, the other keys that are: the call has to be right when all that is said was done."""
    if any(each.says in _OF_KEYS for each in said):
        settled = {name for each in said for name in (each.field, each.to)}
        yield from (each for each in _by_schema(lesson, call, view, settled) if each.says in _OF_KEYS)


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


def _by_wrong_value(lesson: Lesson, call: Call, view: ToolView) -> Iterator[Remedy]:
    """Of a value that the schema does not list: what was meant by it, not what others wrote in its place."""
    if lesson.condition is Condition.SCHEMA:
        for each in violations_of(call.arguments, view.schema):
            if each.what == "enum" and each.path == lesson.field and safe_field(each.path):
                yield from filter(None, (_of_violation(each),))


def _by_schema(lesson: Lesson, call: Call, view: ToolView, settled: Collection[str] = ()) -> Iterator[Remedy]:
    if lesson.kind not in _SCHEMA_KINDS and lesson.condition not in _SCHEMA_CONDITIONS:
        return
    against = violations_of(call.arguments, view.schema)
    found = [each for each in against if safe_field(each.path) and each.path not in settled]
    blamed = [each for each in found if each.path == lesson.field]
    if blamed and blamed[0].what in ("type", "enum"):
        found = blamed
    renames = dict(renames_of(found))
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
    refused = lesson.kind is Kind.FORBIDDEN or OUTSIDE in lesson.key
    if not (refused or lesson.kind is Kind.NOT_FOUND) or len(view.bases) != 1:
        return
    if joined := _joined(field, call, view.bases[0]):
        yield joined
    elif refused and (base := shown_path(view.bases[0])):
        yield Remedy("inside", field, base)


def _type_of(path: str, view: ToolView) -> str:
    properties = view.schema.get("properties") if isinstance(view.schema, Mapping) else None
    stated = properties.get(path) if isinstance(properties, Mapping) else None
    return _only(types_of(stated, view.schema)) if isinstance(stated, Mapping) else ""


def _only(types: frozenset[str]) -> str:
    stated = types - {"null"}
    return next(iter(stated)) if len(stated) == 1 else ""
