"""What a validation error says, key by key: zod, pydantic, JSON Schema validators and plain sentences."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from rearview.learn.keys import parse
from rearview.learn.lazy import Lazy

MAX_ISSUES = 12

MISSING, TYPE, EXTRA, VALUE = "missing", "type", "extra", "value"


class Issue(NamedTuple):
    """One complaint about one key; `expected` is the JSON type that was wanted, where the error names it."""

    path: str
    what: str
    expected: str = ""


_TYPES = {
    "array": "array",
    "list": "array",
    "tuple": "array",
    "sequence": "array",
    "set": "array",
    "object": "object",
    "dict": "object",
    "dictionary": "object",
    "record": "object",
    "mapping": "object",
    "map": "object",
    "model": "object",
    "number": "number",
    "integer": "number",
    "int": "number",
    "float": "number",
    "decimal": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "string": "string",
    "str": "string",
}
_EXPECTED = Lazy(
    r"(?:expected|valid|of type|must be|should be|requires)\s+(?:to be )?(?:an?\s+)?(?:valid\s+)?['\"]?([a-z]+)\b",
    re.IGNORECASE,
)
_NAME = r"[A-Za-z_$][\w$-]*(?:(?:\.|\[)[\w$\]]+)*"
_ZOD_ISSUE = Lazy(r"\{[^{}]*\"path\"\s*:\s*\[([^\]]*)\][^{}]*\}")
_ZOD_FLAT = Lazy(
    rf"(required|invalid[^\n]*|expected[^\n]*|too (?:big|small)[^\n]*)\s+(?:→ )?at ({_NAME})", re.IGNORECASE
)
_PYDANTIC = Lazy(rf"^\s*({_NAME})\s*\n\s+([^\n]+)", re.MULTILINE)
_QUOTED_FIRST = Lazy(rf"['\"`]({_NAME})['\"`]\s+(is a required|is required|was unexpected|were unexpected|is missing)")
_UNEXPECTED = Lazy(
    r"(?:unrecognized key|(?:unexpected|unknown) (?:keyword )?(?:argument|parameter|property|key|field|option))"
    rf"[\w() ]*:?[^\w'\"`\n]*['\"`]?({_NAME})",
    re.IGNORECASE,
)
_MISSING = Lazy(
    r"(?:missing|require[sd]?|provide|specify|must have)\s+"
    r"(?:(?:an?|the|value for|required|mandatory|positional|keyword-only|\d+)\s+)*"
    rf"(?:argument|parameter|field|property|key|option|input)s?\s*(?:\([a-z]+\))?:?\s+['\"`]?({_NAME})",
    re.IGNORECASE,
)
_IS_REQUIRED = Lazy(rf"['\"`]?\b({_NAME})['\"`]?\s+(?:is|are)\s+(?:required|missing)\b", re.IGNORECASE)
_MISSING_STARTS = ("required", "field required", "missing")
_OF_TYPES = Lazy(
    r"typeerror|not of type|(?:must|should) be|\bexpected\b|instances of|operand type|invalid literal|convert|类型",
    re.IGNORECASE,
)
_POSITION = Lazy(r"\[\d+\]|\.\d+(?=\.|$)")
_FILLER = frozenset(
    {"is", "are", "the", "a", "an", "this", "it", "for", "in", "of", "was", "and", "or", "with", "name"}
)


def issues_of(error: str) -> list[Issue]:
    """Everything that an error says about named keys, in the order of the forms tried; at most twelve."""
    found: dict[Issue, None] = {}
    for reader in (_zod, _zod_flat, _pydantic, _sentences):
        found.update(dict.fromkeys(reader(error)))
    return list(found)[:MAX_ISSUES]


def expected_type(message: str) -> str:
    """The JSON type that a message says it wanted; empty when it names none."""
    for word in _EXPECTED.pattern.findall(message):
        kind = _TYPES.get(word.lower())
        if kind:
            return kind
    return ""


def _issue(path: str, message: str) -> Issue:
    low = message.lower()
    path = _POSITION.pattern.sub("[]", path)
    if "undefined" in low or low.endswith("required") or low.startswith(_MISSING_STARTS) or "type=missing" in low:
        return Issue(path, MISSING)
    if "extra" in low or "unexpected" in low or "unrecognized" in low or "not permitted" in low:
        return Issue(path, EXTRA)
    wanted = expected_type(message)
    bounds = "too big" in low or "too small" in low
    return Issue(path, TYPE, wanted) if wanted and not bounds else Issue(path, VALUE)


def _zod(error: str) -> list[Issue]:
    found = []
    for match in _ZOD_ISSUE.pattern.finditer(error.replace('\\"', '"')):
        parts = [part.strip(" \n\t\"'") for part in match[1].split(",")]
        path = "".join("[]" if part.isdigit() else f".{part}" for part in parts if part).lstrip(".")
        if path:
            body = match[0].replace('"', "")
            message = body if "undefined" in body else body.partition("message")[2].lstrip(": ") or body
            found.append(_issue(path, message))
    return found


def _zod_flat(error: str) -> list[Issue]:
    return [_issue(path, message) for message, path in _ZOD_FLAT.pattern.findall(error.replace("\n  → at", " → at"))]


def _pydantic(error: str) -> list[Issue]:
    if "validation error" not in error:
        return []
    return [_issue(path, message) for path, message in _PYDANTIC.pattern.findall(error)]


def _sentences(error: str) -> list[Issue]:
    found = []
    for path, verb in _QUOTED_FIRST.pattern.findall(error):
        found.append(Issue(path, EXTRA if "unexpected" in verb else MISSING))
    found.extend(Issue(path, EXTRA) for path in _UNEXPECTED.pattern.findall(error))
    found.extend(Issue(path, MISSING) for path in _MISSING.pattern.findall(error))
    found.extend(Issue(path, MISSING) for path in _IS_REQUIRED.pattern.findall(error))
    return [issue for issue in found if issue.path.lower() not in _FILLER and issue.path.lower() not in _TYPES]


def violations_named_by(error: str, arguments: Mapping[str, Any], violated: Iterable[str]) -> list[str]:
    """Those schema conditions that an error gives ground for; a server need not hold with its own schema.

    Where the error names keys, only theirs. Where it names none, what is missing or too much, and a wrong value if the
    error quotes it or speaks of types.
    """
    found = [(key, *parsed.parts[0]) for key in violated if (parsed := parse(key)) and parsed.parts]
    named = _named_keys(error, {*arguments, *(path for _, path, _ in found)})
    if named:
        return [key for key, path, _ in found if path in named]
    of_types = _OF_TYPES.pattern.search(error) is not None
    return [
        key
        for key, path, what in found
        if what in {"required", "extra"} or of_types or _quotes(error, arguments.get(path))
    ]


def _named_keys(error: str, keys: Collection[str]) -> set[str]:
    told = {issue.path.partition(".")[0].replace("[]", "") for issue in issues_of(error)}
    return told.intersection(keys) or {key for key in keys if re.search(rf"(?<!\w){re.escape(key)}(?!\w)", error)}


def _quotes(error: str, value: Any) -> bool:
    text = str(value)
    return text != "" and any(f"{mark}{text}{mark}" in error for mark in "'\"`")
