"""Which argument names announce a secret."""

import re

_WORDS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"
# Judged on the name without separators, so that db-password, dbPassword and dbpassword are the same.
_ALWAYS = (
    "password|passwd|passphrase|passcode|apikey|appkey|secretkey|accesskey|privatekey|signingkey|encryptionkey|"
    "masterkey|accountkey|sharedkey|sshkey|licensekey|authkey|clientsecret|accesstoken|authtoken|refreshtoken|"
    "bearer|credential|authorization|sessionid|sessid|sessionkey|setcookie|mnemonic|seedphrase"
)
_WORD = frozenset(
    ("secret", "secrets", "token", "tokens", "pwd", "auth", "oauth", "cred", "creds", "cookie", "cookies")
)
_LAST_WORD = frozenset(("pass", "pw", "jwt"))
_DIGITS_ONLY = frozenset(("pin", "otp", "cvv", "cvc", "totp", "mfa"))
_QUESTIONS = frozenset(("has", "is", "use", "uses", "no", "requires", "needs", "show", "forgot"))
_COUNTED = frozenset(("token", "tokens"))
_COUNTS = """
max min num total count limit budget usage used remaining page next prev previous continuation sync delta cancel
cancellation progress prompt completion input output reasoning cached start stop end eos bos pad per
"""
_COUNTS_AND_CURSORS = frozenset(_COUNTS.split())
_ATTRIBUTES = """
name names type types url uri endpoint path file filename dir count length len size ttl expiry expires expiration
expired enabled required policy method mode scheme strategy provider field fields scope scopes status version
format at seconds ms description label index position kind
"""
_ATTRIBUTE = frozenset(_ATTRIBUTES.split())
_known: dict[str, str] = {}
_KNOWN_LIMIT = 4096
_KNOWN_CHARS = 80


def secrecy(name: str) -> str:
    """Return how sure the name is: `strong`, `weak` (a lone word such as token or auth), `digits` (pin), or nothing.

    `author`, `tokenize` and `secretary` are other words; `max_tokens`, `next_page_token`, `token_count`,
    `password_policy`, `secret_name`, `auth_url` hold numbers, cursors and names, which say why calls fail.
    """
    found = _known.get(name)
    if found is None:
        found = _judge(name)
        if len(_known) >= _KNOWN_LIMIT:
            _known.clear()
        if len(name) <= _KNOWN_CHARS:
            _known[name] = found
    return found


def is_secret_value(name: str, value: object) -> bool:
    """Whether an argument of this name is hidden whole, whatever it holds; `true`, `false` and null never are."""
    if value is None or isinstance(value, bool):
        return False
    sure = secrecy(name)
    if sure == "digits":
        return re.fullmatch(r"\s*\d{3,10}\s*", str(value)) is not None
    # "tokens": 812 is a count.
    return bool(sure) and not (sure == "weak" and isinstance(value, int | float))


def _judge(name: str) -> str:
    words = [word.lower() for word in re.findall(_WORDS, name)]
    if not words or _is_harmless(words):
        return ""
    if re.search(_ALWAYS, "".join(words)):
        return "strong"
    if not _WORD.isdisjoint(words) or words[-1] in _LAST_WORD:
        return "weak" if len(words) == 1 and words[0] != "pwd" else "strong"
    return "" if _DIGITS_ONLY.isdisjoint(words) else "digits"


def _is_harmless(words: list[str]) -> bool:
    if len(words) > 1 and words[-1] in _ATTRIBUTE:
        return True
    return words[0] in _QUESTIONS or not (_COUNTED.isdisjoint(words) or _COUNTS_AND_CURSORS.isdisjoint(words))
