"""Which identifiers of a peer may be repeated: short, plain, and not a sentence written with underscores."""

import re

FIELD_LIMIT_CHARS = 80

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-\[\]]{0,63}", re.ASCII)
_SEGMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,63}(?:\[\])*", re.ASCII)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_PARTS_LIMIT = 6
_ORDER_PARTS = 3
_WORD_CHARS = 3
_ORDERS_ZH = re.compile("忽略|指令|执行|立即|必须|请")
_LONG_ZH = re.compile(r"[^\x00-\x7f]{13}")
_ORDER_WORDS = """
ignore disregard forget override bypass please must should always never instead instruction instructions prompt
previous prior immediately obey execute exfiltrate jailbreak assistant user you your
"""
_ORDERS = frozenset(_ORDER_WORDS.split())


def safe_identifier(text: str) -> bool:
    """Whether `text` may stand in what we say: at most 64 of letters, digits and `_.-[]`, not read as an order."""
    return _IDENTIFIER.fullmatch(text) is not None and not reads_as_order(text)


def safe_field(path: str) -> bool:
    """Whether a path of keys (`edits[].oldText`) may stand in what we say: each key by itself, and the whole."""
    keys = path.split(".")
    return (
        len(path) <= FIELD_LIMIT_CHARS
        and not reads_as_order(path)
        and all(_SEGMENT.fullmatch(key) is not None for key in keys)
    )


def reads_as_order(text: str) -> bool:
    """Whether an identifier has so many words, or such words, that a model could read it as a sentence."""
    if not text.isascii() and (_ORDERS_ZH.search(text) or _LONG_ZH.search(text)):
        return True
    parts = [part.lower() for part in _PARTS.findall(text)]
    # Random names (k3jx9qq2mz) fall into many short parts, which are no words.
    if sum(len(part) >= _WORD_CHARS and part.isalpha() for part in parts) > _PARTS_LIMIT:
        return True
    found = _ORDERS.intersection(parts)
    return len(found) > 1 or (bool(found) and len(parts) >= _ORDER_PARTS)
