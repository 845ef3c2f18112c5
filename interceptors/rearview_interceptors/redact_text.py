"""Hides the secrets of one text, wherever it comes from.

A text may have been cut, so a secret in it may be cut in two, and half a secret has no shape to know it by. Therefore
the last unbroken run of characters in front of a cut is dropped: whatever the cut went through is gone whole. What can
contain blanks (a private key, a quoted password, a cookie header) is hidden to the end of the text when its end is
missing. Cut texts at their end only, never in front.
"""

import re
from functools import cache

from rearview_interceptors.redact_assigned import hide_assigned
from rearview_interceptors.redact_rules import (
    ANCHORS,
    CONTEXT_RULES,
    CUT_URL,
    EMAIL_RULES,
    KEY_RULES,
    NEARBY_RULES,
    PLAIN_ANCHORS,
    RUN_LENGTH,
    STEMS,
    UNANCHORED_RULES,
    Rule,
    vendor_rules,
)

# ASCII only: a byte of anything else is no token character, and stays what it is.
_TOKEN_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_RUNS = bytes(byte in _TOKEN_BYTES for byte in range(256))
_RUN = b"\1" * RUN_LENGTH
# Texts shrink by a third without what no stem contains, and a search in the rest costs that much less.
_FLESH = b"AEIBFGJLMVXZQaeibfgjlmvxzq0123456789./_-\"'=:,"
_BONES = bytes(byte + 32 if chr(byte) in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" else byte for byte in range(256))
# What the rules look for that neither `_has_mark` nor `STEMS` would betray.
_WORD_ANCHORS = (
    *("bearer", "basic", "aws", "sig=", "sig%3d", "sig\\u003d", "hooks.slack", "webhook", "-us"),
    *("private-lines", "-----end", "token", "secret", "key", "password", "credential", "sess"),
)
# Looking for a number is a tenth of looking for a byte string of one byte.
_AT, _COLON, _DOT, _EQUALS, _GREATER, _PERCENT, _QUOTE = b"@:.=>%'"
RUN_SAMPLE = 64
RUN_VARIETY = 6
"""A run of fewer different characters is a line or a filling."""
PREFIX_LENGTH = 12
_BREAKS = " \t\r\n\"'`<>,;{}()[]|"
_ESCAPE = r"%([0-7][0-9A-Fa-f])"
_ENCODED = rf"(?<![^\s\"'<>])[^\s\"'<>]*(?:{_ESCAPE}|\+[\w\-]+\+)[^\s\"'<>]*"


def redact_text(text: str, *, email: bool = False, limit: int = 0, cut: bool = False) -> str:
    """Return the text with each secret replaced by `[redacted:<rule>]`.

    With a `limit`, a longer text is cut first; `cut` says that somebody else has cut it already.
    """
    if limit and len(text) > limit:
        text, cut = text[:limit], True
    if cut:
        text = text[: max(map(text.rfind, _BREAKS)) + 1]
        text = re.sub(CUT_URL, "://[redacted:url]", text)
    return _redact(text, email=email) if suspicious(text, email=email) else text


def suspicious(text: str, *, email: bool = False) -> bool:
    """Whether any rule could find something: a cheap test that clears most texts."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) >= RUN_LENGTH and _RUN in raw.translate(_RUNS) and _has_anchor(text, raw):
        return True
    if _has_mark(raw, email=email):
        return True
    # The words announce something only in front of one of these.
    if not (_COLON in raw or _EQUALS in raw or _QUOTE in raw or _GREATER in raw or b"--" in raw):
        return False
    bones = raw.translate(_BONES, _FLESH).decode("latin-1")
    for stem in STEMS:  # noqa: SIM110 - any() and its generator would cost as much as the search itself
        if stem in bones:
            return True
    return False


def _has_anchor(text: str, raw: bytes) -> bool:
    """Whether a text with a long run also has what makes a rule look at it; a hash or a UUID alone is no secret."""
    runs = [found.span() for found in _runs().finditer(raw) if _is_varied(found[0])]
    if not runs:
        return False
    if any(_is_anchored(raw, start, end) for start, end in runs):
        return True
    lowered = raw.lower().decode("latin-1")
    for word in _WORD_ANCHORS:  # no any(), as above
        if word in lowered:
            return True
    return _DOT in raw and any(re.compile(rule.pattern).search(text) for rule in UNANCHORED_RULES)


def _is_anchored(raw: bytes, start: int, end: int) -> bool:
    anchor = _token_anchor()
    # A few prefixes end in what is no token character, such as SG. and 1//0.
    before = max(0, start - PREFIX_LENGTH)
    run = raw[start:end]
    if not run.isalnum() or run.lower() != run:
        return anchor.search(raw, before, end) is not None
    # Of the prefixes only a few can stand inside of such a run, and most runs are such.
    if anchor.search(raw, before, min(end, start + PREFIX_LENGTH)):
        return True
    inside = run.decode("ascii")
    return any(word in inside for word in PLAIN_ANCHORS)


def _is_varied(run: bytes) -> bool:
    return len(set(run[:RUN_SAMPLE])) >= RUN_VARIETY or len(set(run[-RUN_SAMPLE:])) >= RUN_VARIETY


@cache
def _runs() -> re.Pattern[bytes]:
    return re.compile(rb"[A-Za-z0-9_\-]{%d,}" % RUN_LENGTH)


@cache
def _token_anchor() -> re.Pattern[bytes]:
    return re.compile(ANCHORS.encode())


def _has_mark(raw: bytes, *, email: bool) -> bool:
    """Whether there is something short that neither runs nor words betray: user:password@, escapes, options."""
    return (
        (_AT in raw and (email or b"://" in raw or b":\\/" in raw))
        or (_PERCENT in raw and (b"%2" in raw or b"%3" in raw or b"%40" in raw))
        or (_QUOTE in raw and b"dentified" in raw.lower())
        or (b" -" in raw and (b"curl" in raw or b"mysql" in raw or b"sshpass" in raw))
    )


def _redact(text: str, *, email: bool) -> str:
    lowered = text.lower()
    for rule in KEY_RULES:
        text = _apply(rule, text, lowered)
    for rule in (*UNANCHORED_RULES, *vendor_rules(text)):
        text = _hide(rule, text)
    for rule in CONTEXT_RULES:
        text = _apply(rule, text, lowered)
    text = hide_assigned(text)
    for rule in NEARBY_RULES + EMAIL_RULES if email else NEARBY_RULES:
        text = _apply(rule, text, lowered)
    if "%" in text or "+" in text:
        text = re.sub(_ENCODED, lambda run: _redact_encoded(run[0], email=email), text)
    return text


def _redact_encoded(run: str, *, email: bool) -> str:
    """Look at a URL-encoded run as it reads decoded; only if that hides something, it is changed."""
    plain = re.sub(_ESCAPE, lambda escape: chr(int(escape[1], 16)), run)
    hidden = run if plain == run else _redact(plain, email=email)
    # A plus may be a blank, or itself: a secret that has one must be looked for first.
    spaced = hidden.replace("+", " ")
    respaced = spaced if spaced == hidden else _redact(spaced, email=email)
    if respaced != spaced:
        hidden = respaced
    elif hidden == plain:
        return run
    return re.sub(r"\s", lambda blank: f"%{ord(blank[0]):02X}", hidden)


def _apply(rule: Rule, text: str, lowered: str) -> str:
    for anchor in rule.anchors:
        if anchor in lowered:
            return _hide(rule, text)
    return text


def _hide(rule: Rule, text: str) -> str:
    parts: list[str] = []
    done = 0
    for match in re.compile(rule.pattern).finditer(text):
        start, end = match.span(match.lastindex or 0)
        if not text.startswith("[redacted:", start):
            parts += text[done:start], f"[redacted:{rule.name}]"
            done = end
    return "".join([*parts, text[done:]]) if parts else text
