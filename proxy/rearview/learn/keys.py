"""The key language: what is true of a call and may predict its failure, written as a string; see `Parsed`."""

import re
from collections.abc import Callable
from typing import NamedTuple

from rearview_interceptors.api import Condition

MAX_KEY_CHARS = 400

SPECIAL = re.compile(r"[%=&~\x00-\x1f]")
_ESCAPED = re.compile(r"%([0-9A-F]{2})")
_PLAIN = frozenset({Condition.EXACT, Condition.SHAPE, Condition.NAME})

GROUNDED = frozenset({Condition.VALUE, Condition.NAME, Condition.KEY, Condition.LACK})
ONLY_IF_KNOWN = GROUNDED | {Condition.EXACT, Condition.SCHEMA}
"""Types whose successes say nothing until the condition has failed once."""


class Parsed(NamedTuple):
    """A key taken apart; all `parts` (path, operand) must hold. Paths and values are escaped in keys, not here.

    exact:<digest>                the same tool and arguments           ("", digest)
    value:<path>=<value>[&…]      these values, all of them             (path, value)…
    name:<identifier>             a name inside a text argument         ("", identifier)
    key:<path>=<class or type>    a key with this class, or JSON type   (path, class or type)
    lack:<path>                   no such key; a bare name at no depth  (path, "")
    tool:                         any call of the tool
    shape:<shape>                 the same paths with the same classes  ("", shape)
    class:<path>=<class>          also `abspath^<folder>` (in it), and  (path, class)
                                  `abspath!^<folder>[&…]` (in none)
    pattern:<path>~<pattern>      also `@<host>`                        (path, pattern)
    schema:required:<key>         the schema wants it                   (key, "required")
    schema:extra:<key>            the schema has no such key            (key, "extra")
    schema:type:<key>=<type>      it came with this wrong JSON type     (key, "type=<type>")
    schema:enum:<key>             it came with a value not listed       (key, "enum")
    """

    condition: Condition
    parts: tuple[tuple[str, str], ...]


def key_of(condition: Condition, *parts: tuple[str, str]) -> str:
    """Write a key; the inverse of `parse`. Empty when it would be too long to keep."""
    if condition in _PLAIN:
        text = parts[0][1]
    elif condition is Condition.SCHEMA:
        path, what = parts[0]
        name, equals, kind = what.partition("=")
        text = f"{name}:{escaped(path)}{equals}{kind}"
    elif condition is Condition.VALUE:
        text = "&".join(f"{escaped(path)}={escaped(value)}" for path, value in parts)
    elif condition is Condition.PATTERN:
        text = "".join(f"{escaped(path)}~{form}" for path, form in parts)
    elif condition is Condition.LACK:
        text = escaped(parts[0][0])
    else:
        text = "".join(f"{escaped(path)}={name}" for path, name in parts)
    key = f"{condition}:{text}"
    return key if len(key) <= MAX_KEY_CHARS else ""


def parse(key: str) -> Parsed | None:
    """Take a key apart; None for one that is not of the language."""
    name, colon, rest = key.partition(":")
    reader = _READERS.get(name) if colon else None
    return Parsed(Condition(name), reader(rest)) if reader else None


def _whole(rest: str) -> tuple[tuple[str, str], ...]:
    return (("", rest),)


def _path_only(rest: str) -> tuple[tuple[str, str], ...]:
    return ((unescaped(rest), ""),)


def _pairs(rest: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.partition("=") for part in rest.split("&")]
    return tuple((unescaped(path), unescaped(value)) for path, _, value in pairs)


def _classed(rest: str) -> tuple[tuple[str, str], ...]:
    path, _, name = rest.partition("=")
    return ((unescaped(path), name),)


def _patterned(rest: str) -> tuple[tuple[str, str], ...]:
    path, _, form = rest.partition("~")
    return ((unescaped(path), form),)


def _schema(rest: str) -> tuple[tuple[str, str], ...]:
    what, _, path = rest.partition(":")
    path, equals, kind = path.partition("=")
    return ((unescaped(path), what + equals + kind),)


_READERS: dict[str, Callable[[str], tuple[tuple[str, str], ...]]] = {
    "exact": _whole,
    "value": _pairs,
    "name": _whole,
    "key": _classed,
    "lack": _path_only,
    "tool": lambda _: (),
    "shape": _whole,
    "class": _classed,
    "pattern": _patterned,
    "schema": _schema,
}


def escaped(text: str) -> str:
    """Percent-encode what separates the parts of a key."""
    return SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", text) if SPECIAL.search(text) else text


def unescaped(text: str) -> str:
    """Undo `escaped`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "%" in text else text


def field_of(key: str) -> str:
    """Path of the argument that a condition blames; empty when it is the whole call or not in the key."""
    parsed = parse(key)
    return parsed.parts[0][0] if parsed and parsed.parts else ""


def condition_of(key: str) -> Condition | None:
    """The type of a key; None for one that is not of the language."""
    name = key.partition(":")[0]
    return Condition(name) if name in _READERS else None
