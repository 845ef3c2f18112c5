"""Why a call failed, read from codes first and from wordings after that, in English and Chinese."""

import re
from functools import cache

from rearview.learn.refusals import refused_by_user
from rearview.learn.unwrap import message_of
from rearview.learn.wordings import WORDINGS
from rearview_interceptors.api import Grade, Kind

OUTSIDE_DECIDES = frozenset({Kind.NOT_FOUND, Kind.OTHER, Kind.PRECONDITION, Kind.FORBIDDEN, Kind.ENVIRONMENT})
"""Why the very same call may work the next time: something else than its arguments decides, and may have changed."""

_LOOKED_AT_CHARS = 4000
_HEAD_CHARS = 300

_NARROW_ROWS = 3
_UNKNOWN_METHOD = -32601
_SERVER_AT_FAULT = 500

_RPC = {
    -32601: Kind.UNKNOWN_TOOL,
    -32602: Kind.ARGUMENT,
    -32002: Kind.NOT_FOUND,
    -32001: Kind.TRANSIENT,
    -32700: Kind.ARGUMENT,
}

_ERRNO = {
    Kind.NOT_FOUND: "ENOENT ESRCH",
    Kind.FORBIDDEN: "EACCES EPERM EROFS",
    Kind.ARGUMENT: "ENOTDIR EISDIR EEXIST EINVAL ENAMETOOLONG ENOTEMPTY ELOOP EBADF",
    Kind.TRANSIENT: "ETIMEDOUT ECONNRESET ECONNABORTED EPIPE EBUSY EAGAIN ERR_TIMED_OUT ERR_CONNECTION_RESET",
    Kind.ENVIRONMENT: "ECONNREFUSED ENOTFOUND EAI_AGAIN ENOSPC EMFILE ENOMEM EHOSTUNREACH ENETUNREACH EADDRINUSE"
    " ERR_CONNECTION_REFUSED ERR_NAME_NOT_RESOLVED ERR_INTERNET_DISCONNECTED ERR_ADDRESS_UNREACHABLE"
    " ERR_SSL_PROTOCOL_ERROR",
}
_ERRNO_KINDS = {name: kind for kind, names in _ERRNO.items() for name in names.split()}

_SQLSTATE = {
    "42P01": Kind.NOT_FOUND, "42703": Kind.NOT_FOUND, "42883": Kind.NOT_FOUND, "42501": Kind.FORBIDDEN,
    "42S02": Kind.NOT_FOUND, "42S22": Kind.NOT_FOUND, "25006": Kind.FORBIDDEN, "08": Kind.ENVIRONMENT,
    "22": Kind.ARGUMENT, "23": Kind.ARGUMENT, "25": Kind.PRECONDITION, "28": Kind.FORBIDDEN, "3D": Kind.NOT_FOUND,
    "3F": Kind.NOT_FOUND, "40": Kind.TRANSIENT, "42": Kind.ARGUMENT, "53": Kind.ENVIRONMENT, "55": Kind.PRECONDITION,
    "57": Kind.TRANSIENT,
}  # fmt: skip

_QUOTED = r"""(?<!\w)(['"`])(?! )[^'"`\s]{1,120}(?: [^'"`\s]{1,60})?\1(?!\w)"""
_ONLY_A_PATH = r"(?:~|[A-Za-z]:)?[\\/]\S+"


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def kind_of(text: str, grade: Grade, code: int | None = None) -> Kind:
    """Why a call failed; `OTHER` when nothing tells. `code` is that of a JSON-RPC error.

    Codes (errno, SQLSTATE, HTTP status) are believed before words, the first line before the rest of the text.
    """
    if grade not in (Grade.SOFT, Grade.FLAGGED, Grade.HARD):
        return Kind.OTHER
    message = message_of(text[: 64 * 1024])[:_LOOKED_AT_CHARS].strip()
    head = message[:_HEAD_CHARS]
    if refused_by_user(message):
        # Whatever the call says, the next one may be let through: it is never held.
        return Kind.ENVIRONMENT
    wording = _by_words(head, narrow=True)
    if wording is Kind.UNKNOWN_TOOL or code == _UNKNOWN_METHOD:
        return Kind.UNKNOWN_TOOL
    kind = wording or _by_code(head)
    if kind is None and code in _RPC:
        kind = _RPC[code]
    if kind is None:
        last = message.rstrip().rpartition("\n")[2]
        kind = _by_words(head) or _by_code(message) or _by_words(last[-_HEAD_CHARS:]) or _by_words(message)
    if kind is None and _regex(_ONLY_A_PATH).fullmatch(head):
        # An exception that carries the path alone is how Python says that nothing usable is there.
        return Kind.NOT_FOUND
    return kind or _by_words(text[:80], narrow=True) or Kind.OTHER


def _by_code(text: str) -> Kind | None:
    for found in _regex(r"\b(?:net::)?(E[A-Z_]{3,30})\b").finditer(text):
        if found[1] in _ERRNO_KINDS:
            return _ERRNO_KINDS[found[1]]
    state = _regex(r"(?:SQLSTATE|ERROR|[Cc]ode)\W{1,4}([0-9][0-9A-Z]{4})\b(?=[^0-9]|$)").search(text)
    if state and (kind := _SQLSTATE.get(state[1]) or _SQLSTATE.get(state[1][:2])):
        return kind
    status = _regex(r"(?:(?i:status|http|code|error|response)\D{0,12}|^\s*|\()([45]\d\d)\b").search(text)
    return _by_status(int(status[1])) if status else None


def _by_status(status: int) -> Kind:
    named = {401: Kind.FORBIDDEN, 403: Kind.FORBIDDEN, 404: Kind.NOT_FOUND, 410: Kind.NOT_FOUND, 429: Kind.RATE_LIMITED}
    if status in named:
        return named[status]
    return Kind.TRANSIENT if status >= _SERVER_AT_FAULT or status in (408, 425) else Kind.ARGUMENT


def _by_words(text: str, *, narrow: bool = False) -> Kind | None:
    # Quoted values are the caller's: a table named "timeout" is no time-out.
    quoted = text.lower()
    plain = _regex(_QUOTED).sub("''", quoted)
    spaced = plain.replace("_", " ")
    for kind, phrases in _phrases()[:_NARROW_ROWS] if narrow else _phrases():
        where = quoted if kind is Kind.UNKNOWN_TOOL else plain
        for phrase in phrases:
            if _regex(phrase[1:]).search(where) if phrase[0] == "~" else (phrase in spaced or phrase in where):
                return kind
    return None


@cache
def _phrases() -> tuple[tuple[Kind, tuple[str, ...]], ...]:
    return tuple((kind, tuple(part.strip() for part in text.split(";"))) for kind, text in WORDINGS)
