"""Hides what a text assigns to a name that announces a secret: `password=...`, `"api_key": "..."`, `--token ...`."""

import re

from rearview_interceptors.redact_names import secrecy

_STEM = r"pass|pwd|secret|token|key|auth|cred|cookie|sess|jwt|bearer|mnemonic|phrase|otp|pin"
_QUOTE = r"(?:\\*[\"'`]|%22|%27|&quot;)"
_GAP = r"(?:[ \t]|%20){0,3}"
_SEPARATOR = rf"""
    (?P<close>{_QUOTE})?\]?{_GAP}
    (?:
        :\s?[A-Za-z_][\w.\[\] |]{{0,40}}?\s?=(?!=)      # password: str = "..."
      | (?::=|={{1,3}}>?|:|%3[AaDd]|\\u003[Dd])
    ){_GAP}(?:[|>][+\-]?\n\s*)?
  | (?P<flag>[ ]|\\*[\"'],\s*(?=\\*[\"']))                # --password x, ["--password", "x"]
"""
# Matched where a stem stands: the last part of a name, a separator, and what is there.
_ASSIGNMENT = rf"""(?isx)
    (?P<stem>(?:{_STEM})[\w\-]{{0,40}}) (?:{_SEPARATOR})
    (?:
        (?P<quote>{_QUOTE})(?P<quoted>.*?)(?:(?<!\\)(?<!%5[Cc])(?P=quote)|\Z)
      | (?P<nested>\[[^\]]*(?:\]|\Z)|\{{[^}}]*(?:\}}|\Z))
      | (?P<bare>(?!["'`])(?:[^\s\"'`;&<>\\%]|\\(?![\"'nrt\\u])|%(?!2[267]|0[AaDd])|(?<=\w)[<>])+)
    )
"""
_NAME_BEFORE = r"(?:\\[nrt]|%[0-9A-Fa-f]{2})?([A-Za-z0-9_.\-]*)\Z"
_NAME_REACH = 40
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

_NO_VALUES = """
a an the is are was not no must should may can cannot can't could will be and or of for to in on with from by if it this
that required missing invalid incorrect wrong expected unexpected expired optional undefined null none nil nan true
false string str text number int integer bool boolean bytes object array any unknown empty value redacted hidden secret
password token key see set unset changed varchar
"""
_NO_VALUE = frozenset(_NO_VALUES.split())
_PLACEHOLDER = (
    r"(?s)\[redacted:.*|\$\{?\w+\}?|\{\{.*|\$\(.*|%\(?\w*\)?s?|:[a-z_]\w*|\?|\*+|[xX\u2022.]+|<.*|@\w+|https?://[^@]*|"
    r"[{}()\[\],.;:|=+\-!/*]*"
)
_CODE = (
    r"[A-Za-z_][\w.]*\([^\"'`()]*\)?[.\w()\]:,]*|(?:os|process|self|this|config|settings|args|env)\.[\w.]+[,)]*|"
    r"[\w.]*(?:environ|env|get\w*|config|settings|secrets|param\w*|lookup|read\w*)[(\[]+"
)
_SHORT_NUMBER = 8
_LONG_WORD = 20
_LONG_ASSIGNED = 6


def hide_assigned(text: str) -> str:
    """Return the text with each such value replaced by `[redacted:assignment]`."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text.translate(_LOWER)
    stems, assignment = re.compile(_STEM), re.compile(_ASSIGNMENT)
    parts: list[str] = []
    done = 0
    for stem in stems.finditer(lowered):
        if stem.start() < done:
            continue
        match = assignment.match(text, stem.start())
        secret = _secret(match) if match else None
        if secret is not None:
            parts += text[done : secret[0]], "[redacted:assignment]"
            done = secret[1]
    return "".join([*parts, text[done:]]) if parts else text


def _secret(match: "re.Match[str]") -> tuple[int, int] | None:
    """Return where in the text the secret stands, or `None` if it is none."""
    start = match.start()
    before = re.compile(_NAME_BEFORE).search(match.string, max(0, start - _NAME_REACH), start)
    name = (before[1] if before else "") + match["stem"]
    sure = secrecy(name.strip("-."))
    if not sure or (match["flag"] and not name.startswith("--")):
        return None
    if match["nested"]:
        in_json = match["close"] and any(letter.isalnum() for letter in match["nested"].replace("[redacted:", ""))
        return match.span("nested") if in_json else None
    group = "bare" if match["bare"] else "quoted"
    if not _says_something(match[group], sure, bare=group == "bare"):
        return None
    if sure == "weak" and not match["close"] and not _looks_random(match[group], match[0]):
        return None
    return match.span(group)


def _says_something(value: str, sure: str, *, bare: bool) -> bool:
    if sure == "digits":
        return re.match(r"\d{3,10}\b", value) is not None
    word = value.strip(" ,.;:()]}\n").lower()
    if not word or word in _NO_VALUE or re.fullmatch(_PLACEHOLDER, value):
        return False
    count = sure == "weak" and word.isdigit() and len(word) < _SHORT_NUMBER
    return not (bare and (count or re.fullmatch(_CODE, value)))


def _looks_random(value: str, assignment: str) -> bool:
    """Whether what follows a lone `token` or `auth` is more than the next word of a sentence."""
    if len(value) >= _LONG_WORD or any(letter.isdigit() for letter in value):
        return True
    if "=" in assignment and len(value) >= _LONG_ASSIGNED:
        return True
    return not (value.islower() or value.istitle() or value.isupper())
