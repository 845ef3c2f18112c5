"""The template of an error text: what stays the same when the same mistake is made with other values."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from rearview.learn.signs import JSON_LIMIT_CHARS
from rearview.learn.unwrap import message_of, without_prefixes

TEMPLATE_LIMIT_CHARS = 300
MASK = "<*>"

_READ_CHARS = 4000
_MASKED_CHARS = 1200
_LEAVES_LIMIT = 60
_LEAF_CHARS = 2000
_DEPTH_LIMIT = 8

_NOISE = r"""
      (?m:^[ \t]*at[ ][^\n]{1,300}$)                              # stack frames of JavaScript and Java
    | (?m:^[ \t]*File[ ]"[^"\n]{1,300}",[ ]line[ ]\d+[^\n]*\n(?:[ \t]+[^\n]*\n?)?)
    | \bCall[ ]log:.* | \bRequire[ ]stack:.* | \bStack[ ]trace:.*
    | For[ ]further[ ]information[ ]visit[ ]\S+
    | ,?[ ]*input_value=.{0,400}?,[ ]input_type=\w+ | ,?[ ]*input_value=[^\n]{0,300}
    | \b\d+[ ]validation[ ]errors?[ ]for[ ]\w+\s
    | \x1b\[[0-9;]*[A-Za-z]
"""
_VALUE = r"""
      (?P<mask><\*>)
    | (?P<status>(?:\b(?:http|status|code|error|sqlstate|errno)(?:[ ]code|/[\d.]+)?[ :=\[(]{1,3})
      (?:[45]\d\d|[0-9][0-9A-Z]{4})\b)
    | (?P<lead>^[0-9][0-9A-Z]{2,4}(?=:[ ]))                       # the code of a JSON error
    | (?P<word>[A-Za-z_]\w*\d*[ ]is[ ]not[ ]defined)
    | (?<![\w])(?P<quote>['"`])(?P<inner>[^'"`\n]{0,200})(?P=quote)(?!\w)
    | [\u201c\u2018\u300c\u300e\u300a](?P<wide>[^\u201d\u2019\u300d\u300f\u300b\n]{0,200})
      [\u201d\u2019\u300d\u300f\u300b]
    | [A-Za-z][A-Za-z0-9+.\-]*://[^\s'"`<>)\]},]+
    | (?<![\w])(?:[A-Za-z]:\\|~?/|\.{1,2}/)[^\s'"`:;,)\]}]+
    | (?<![\w/])[\w.\-]+(?:/[\w.\-]+)+
    | \b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F\-]{12,27}\b
    | \b\d{1,4}[\-/.]\d{1,2}[\-/.]\d{1,4}(?:[T ]?\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+\-]\d\d:?\d\d)?)?
    | \b\d{1,2}:\d{2}(?::\d{2})?\b
    | \b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{7,64}\b
    | [\w.+\-]+@[\w\-]+\.[\w.\-]+
    | (?<![A-Za-z_])[+\-]?\d[\d.,_]*(?:%|\b)?
    | \b(?=\w*\d)(?=\w*[A-Za-z])\w{2,40}\b
"""
# An identifier in quotes next to one of these is the name of a field, and stays.
_FIELD_AFTER = r"\s*(?:is a required|property\b|parameter\b|argument\b|field\b|key\b|option\b|\W?\s*(?:参数|字段|属性))"
_FIELD_BEFORE = r"(?:property|parameter|argument|field|key|option|参数|字段|属性)s?\W{0,2}$"
_IDENTIFIER = r"[A-Za-z_][\w.\[\]\-]{0,63}"
_KEPT_CODE = r"E[A-Z]{3,}\d*|(?:UTF|SHA|MD|HTTP|TLS|ISO|IPV|BASE)-?\d+|[0-9][0-9A-Z]{4}(?=\))"
_NAMED = (
    r"(?i)(\b(?:table|column|relation|view|index|schema|database|function|module|named|failed|attribute|name):?\s+['\"]?)"
    r"(\w+(?:\.\w+)*)"
)
_WORDS_IN_A_VALUE = 3


@cache
def _regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(pattern, flags)


def template_of(text: str, arguments: Mapping[str, Any]) -> str:
    """At most 300 characters that are equal for equal mistakes; values of the call, numbers, paths, ids become `<*>`.

    Field names, codes, HTTP statuses and exception names stay. Bounded: a text beyond 64 KiB is read to 4,000
    characters. Never raises.
    """
    if len(text) > JSON_LIMIT_CHARS:
        text = text[:_READ_CHARS]
    names, leaves = _read(arguments)
    message = message_of(text)[:_READ_CHARS]
    message = without_prefixes(_without_noise(message))[:_MASKED_CHARS]
    for leaf in leaves:
        message = _mask_leaf(message, leaf)
    message = _mask_names(message, leaves)
    message = _regex(_VALUE, re.VERBOSE | re.IGNORECASE).sub(lambda found: _masked(found, names), message)
    return _tidy(message)


def _without_noise(message: str) -> str:
    return _regex(_NOISE, re.VERBOSE | re.DOTALL).sub(" ", message)


def _read(arguments: Mapping[str, Any]) -> tuple[frozenset[str], list[str]]:
    """Names of keys, and the leaves to mask, longest first so that no value hides in a longer one."""
    names: set[str] = set()
    leaves: set[str] = set()
    for leaf in _walk(arguments, names, 0):
        text = leaf if isinstance(leaf, str) else "" if isinstance(leaf, bool) or leaf is None else str(leaf)
        text = text[:_LEAF_CHARS].strip()
        if len(text) > 1 or text.isalnum():
            leaves.add(text)
        if len(leaves) >= _LEAVES_LIMIT:
            break
    return frozenset(names), sorted(leaves - names, key=lambda leaf: (-len(leaf), leaf))


def _walk(value: Any, names: set[str], depth: int) -> Iterator[Any]:
    if depth > _DEPTH_LIMIT:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            names.add(str(key))
            yield from _walk(inner, names, depth + 1)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _walk(inner, names, depth + 1)
    else:
        yield value


def _mask_leaf(message: str, leaf: str) -> str:
    """Mask whole occurrences only: a leaf `a` is not cut out of the words around it."""
    parts = message.split(leaf)
    if len(parts) == 1:
        return message
    masked = parts[0]
    for part in parts[1:]:
        inside = (masked[-1:].isalnum() and leaf[0].isalnum() and masked[-1:].isascii() and leaf[0].isascii()) or (
            part[:1].isalnum() and leaf[-1].isalnum() and part[:1].isascii() and leaf[-1].isascii()
        )
        masked += (leaf if inside or masked.endswith("<") else MASK) + part
    return masked


def _mask_names(message: str, leaves: list[str]) -> str:
    """Mask what follows "table", "column", … and stands inside a longer argument, a query for instance."""
    words = {word for leaf in leaves if " " in leaf for word in _regex(r"\w+").findall(leaf)}
    if not words:
        return message

    def mask(found: re.Match[str]) -> str:
        parts = found[2].split(".")
        return found[1] + MASK if all(part in words for part in parts) else found[0]

    return _regex(_NAMED).sub(mask, message)


def _masked(found: re.Match[str], names: frozenset[str]) -> str:
    whole = found[0]
    if found["mask"] or found["status"] or found["lead"] or found["word"]:
        return whole
    inner = found["inner"] if found["quote"] else found["wide"]
    if inner is None:
        return whole if _regex(_KEPT_CODE, re.IGNORECASE).fullmatch(whole) else MASK
    if not inner.strip():
        return whole
    if inner in names or (_regex(_IDENTIFIER).fullmatch(inner) and _names_a_field(found)):
        return f"'{inner}'"
    if inner.count(" ") >= _WORDS_IN_A_VALUE and MASK not in inner:
        # A quoted sentence is a message that was passed on; its own values are masked like any other.
        return _regex(_VALUE, re.VERBOSE | re.IGNORECASE).sub(lambda part: _masked(part, names), inner)
    return inner if inner.count(" ") >= _WORDS_IN_A_VALUE else MASK


def _names_a_field(found: re.Match[str]) -> bool:
    text = found.string
    if _regex(_FIELD_AFTER, re.IGNORECASE).match(text, found.end()):
        return True
    return _regex(_FIELD_BEFORE, re.IGNORECASE).search(text[max(0, found.start() - 24) : found.start()]) is not None


def _tidy(message: str) -> str:
    message = "".join(letter if letter.isprintable() else " " for letter in message)
    message = _regex(r"['\"`]<\*>['\"`]?|<\*>['\"`]").sub(MASK, message)
    message = _regex(r"<\*>(?:[\s|,;/:\-]*(?:<\*>|and <\*>|or <\*>))+").sub(MASK, message)
    message = " ".join(message.split())
    if len(message) > TEMPLATE_LIMIT_CHARS:
        message = message[:TEMPLATE_LIMIT_CHARS].rpartition(" ")[0] or message[:TEMPLATE_LIMIT_CHARS]
    return message
