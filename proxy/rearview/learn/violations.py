"""What about the arguments of a call its own schema does not allow: missing, extra, wrong type, not a member."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

_DEPTH_LIMIT = 5
_FOUND_LIMIT = 20
_ITEMS_LIMIT = 20


class Violation(NamedTuple):
    """`path` is the argument (`edits[].oldText`), `schema` what the tool says of it (of its object, when extra)."""

    what: Literal["missing", "extra", "type", "enum"]
    path: str
    value: Any
    schema: Mapping[str, Any]


def violations_of(arguments: Any, schema: Mapping[str, Any] | None) -> list[Violation]:
    """At most 20, in the order of the schema. Only what `type`, `enum`, `required`, `properties`, `items` and local
    `$ref`s say; where a schema allows alternatives, what none of them allows. Never raises.
    """
    found: list[Violation] = []
    if schema:
        for violation in _walk(arguments, schema, schema, "", 0):
            found.append(violation)
            if len(found) >= _FOUND_LIMIT:
                break
    return found


def types_of(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, depth: int = 0) -> frozenset[str]:
    """JSON types that a schema takes; empty when it does not say, or says it too deep down."""
    schema = _resolved(schema, root or schema)
    kind = schema.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    if isinstance(kind, list):
        return frozenset(name for name in kind if isinstance(name, str))
    for name in ("anyOf", "oneOf"):
        options = schema.get(name)
        if depth < _DEPTH_LIMIT and isinstance(options, list) and all(isinstance(each, Mapping) for each in options):
            each = [types_of(option, root or schema, depth + 1) for option in options[:_ITEMS_LIMIT]]
            return frozenset[str]().union(*each) if each and all(each) else frozenset()
    return frozenset()


def fits_type(value: Any, types: frozenset[str]) -> bool:
    """Whether a value is of one of these JSON types; any is fine when there are none."""
    if not types:
        return True
    if value is None:
        return "null" in types
    if isinstance(value, bool):
        return "boolean" in types
    if isinstance(value, (int, float)):
        return "number" in types or ("integer" in types and float(value).is_integer())
    name = "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
    return name in types


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(_DEPTH_LIMIT):
        ref = schema.get("$ref")
        if not isinstance(ref, str) or not ref.startswith("#/"):
            break
        target: Any = root
        for part in ref[2:].split("/"):
            target = target.get(part) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            return {}
        schema = target
    return schema


def _walk(value: Any, schema: Any, root: Mapping[str, Any], path: str, depth: int) -> Iterator[Violation]:
    if depth > _DEPTH_LIMIT or not isinstance(schema, Mapping):
        return
    schema = _resolved(schema, root)
    types = types_of(schema, root)
    members = schema.get("enum")
    if path and not fits_type(value, types):
        yield Violation("type", path, value, schema)
    elif isinstance(members, list) and members and value not in members:
        yield Violation("enum", path, value, schema)
    elif isinstance(value, Mapping):
        yield from _in_object(value, schema, root, path, depth)
    elif isinstance(value, list):
        for item in value[:_ITEMS_LIMIT]:
            yield from _walk(item, schema.get("items"), root, path + "[]", depth + 1)


def _in_object(
    value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], path: str, depth: int
) -> Iterator[Violation]:
    known = schema.get("properties")
    known = known if isinstance(known, Mapping) else {}
    required = schema.get("required")
    lead = f"{path}." if path else ""
    for key in required if isinstance(required, list) else ():
        stated = known.get(key) if isinstance(key, str) else None
        stated = stated if isinstance(stated, Mapping) else {}
        if isinstance(key, str) and key not in value and "default" not in stated:
            yield Violation("missing", lead + key, None, stated)
    for key, inner in value.items():
        if key in known:
            yield from _walk(inner, known[key], root, lead + str(key), depth + 1)
        elif known and schema.get("additionalProperties") in (None, False):
            yield Violation("extra", lead + str(key), inner, schema)
