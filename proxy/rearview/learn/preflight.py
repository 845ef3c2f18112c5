"""What a tool's input schema has against a call, said only where it is plain."""

from collections.abc import Mapping
from typing import Any

from rearview.learn.keys import key_of
from rearview.learn.values import json_type
from rearview_interceptors.api import Condition

_TYPE_NAMES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})


def violations(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any]) -> list[str]:
    """What a tool's input schema has against its arguments; only what is plain at the top level, never a guess.

    A key with a default is not required, an unknown key counts only if extra ones are forbidden or a required one is
    missing, and a key whose schema is a choice or a reference is not judged.
    """
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if schema is None or not isinstance(properties, Mapping):
        return []
    listed = schema.get("required")
    required = [k for k in listed if isinstance(k, str)] if isinstance(listed, list) else []
    found = [(k, "required") for k in required if k not in arguments and not _has_default(properties.get(k))]
    if schema.get("additionalProperties") is False or found:
        found.extend((k, "extra") for k in arguments if isinstance(k, str) and k not in properties)
    for key, value in arguments.items():
        wrong = wrong_value(properties.get(key), value)
        if wrong:
            found.append((key, wrong))
    return [key for part in found if (key := key_of(Condition.SCHEMA, part))]


def _has_default(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "default" in schema


def wrong_value(schema: Any, value: Any) -> str:
    """What the schema of one key has against its value: `type=<type>`, `enum`, or nothing."""
    if not isinstance(schema, Mapping) or (isinstance(value, Mapping) and "$cut" in value):
        return ""
    if any(word in schema for word in ("anyOf", "oneOf", "allOf", "$ref", "not", "if")):
        return ""
    stated = schema.get("type")
    types = [stated] if isinstance(stated, str) else stated if isinstance(stated, list) else []
    known = bool(types) and all(isinstance(name, str) and name in _TYPE_NAMES for name in types)
    got = json_type(value)
    if known and got not in types and not (got == "number" and "integer" in types):
        return f"type={got}"
    choices = schema.get("enum")
    return "enum" if isinstance(choices, list) and choices and not _listed(value, choices) else ""


def _listed(value: Any, choices: list[Any]) -> bool:
    if isinstance(value, str) and "[redacted:" in value:
        return True
    return any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices)
