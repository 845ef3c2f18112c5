"""What an interceptor sees and may answer: frozen facts in, a verdict out.

`Call` and `Reply` are made for every message of the relay's hot path; they are named tuples because those cost a
third of a frozen dataclass to create. Everything else is a frozen dataclass.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

TEXT_LIMIT_CHARS = 4000
JsonId = str | int | float | bool | None


class Grade(StrEnum):
    """How sure it is that an exchange failed; `HARD` is a JSON-RPC error, a dead server or a time-out."""

    OK = "ok"
    SOFT = "soft"
    FLAGGED = "flagged"
    HARD = "hard"
    UNKNOWN = "unknown"
    """Not an outcome: a task handle, `input_required`, a cancelled or unanswered call, a call held by us."""


class Kind(StrEnum):
    """Why a call failed, as coarse as advice needs it."""

    ARGUMENT = "argument"
    PRECONDITION = "precondition"
    NOT_FOUND = "not_found"
    FORBIDDEN = "forbidden"
    RATE_LIMITED = "rate_limited"
    TRANSIENT = "transient"
    ENVIRONMENT = "environment"
    UNKNOWN_TOOL = "unknown_tool"
    EMPTY = "empty"
    OTHER = "other"


class Condition(StrEnum):
    """What about a call predicts its failure."""

    EXACT = "exact"
    VALUE = "value"
    NAME = "name"
    KEY = "key"
    LACK = "lack"
    TOOL = "tool"
    SHAPE = "shape"
    CLASS = "class"
    PATTERN = "pattern"
    SCHEMA = "schema"
    SESSION_EXACT = "session_exact"
    SESSION_GROUNDED = "session_grounded"
    SESSION_LOOP = "session_loop"


class Call(NamedTuple):
    """One `tools/call` request, read once.

    `arguments` is the decoded object of the wire (do not change it). `seal` is the digest, or the function that makes
    it of tool and arguments: most calls never need it before they are over. `at` is a monotonic clock in seconds.
    `task` names the task that the call belongs to, as far as the relay can tell.
    """

    id: JsonId
    server: str
    tool: str
    arguments: Mapping[str, Any]
    seal: bytes | Callable[[str, Mapping[str, Any]], bytes]
    at: float
    task: str
    modern: bool
    meta: Mapping[str, Any]

    @property
    def digest(self) -> bytes:
        """A keyed 16-byte BLAKE2b of tool and full arguments, before any redaction; made anew at each asking."""
        seal = self.seal
        return seal if isinstance(seal, bytes) else seal(self.tool, self.arguments)


class Reply(NamedTuple):
    """The outcome of a call. `quote` is what `text` is made of: itself, or the inside of a JSON string of the wire."""

    grade: Grade
    kind: Kind | None
    quote: str | bytes
    size: int
    took_s: float

    @property
    def text(self) -> str:
        """Its first text block, or its error message, at most 4,000 characters of it; decoded anew at each asking."""
        quote = self.quote
        return quote if isinstance(quote, str) else _unquoted(quote)[:TEXT_LIMIT_CHARS]

    @property
    def failed(self) -> bool:
        """Whether the grade is one of `FAILED`."""
        return self.grade in FAILED


def _unquoted(inside: bytes) -> str:
    try:
        return str(json.loads(b'"%b"' % inside, strict=False))
    except ValueError:
        return inside.decode("utf-8", "replace")


FAILED = frozenset({Grade.SOFT, Grade.FLAGGED, Grade.HARD})

FixAction = Literal["rename", "add", "drop", "convert", "prefix", "known_name", "type", "call_first", "wait"]


@dataclass(frozen=True, slots=True)
class Fix:
    """A typed difference between calls that failed and calls that then worked; never a value of another call.

    action      field               to
    rename      wrong key           right key
    add         missing key         "" (or the value class it takes)
    drop        superfluous key     ""
    convert     key                 form of a good value: a pattern (`####-##-##`), or a value class (`abspath`)
    prefix      key                 a path prefix that worked for this owner in this environment
    known_name  key                 a name that worked for this owner in this environment
    type        key                 JSON Schema type that the tool takes
    call_first  ""                  a tool of the same server
    wait        ""                  ""
    """

    action: FixAction
    field: str = ""
    to: str = ""
    trajectories: int = 0


@dataclass(frozen=True, slots=True)
class Lesson:
    """One thing that is known to fail, in typed fields only; words are made when it is spoken.

    `field` is the path of the argument to blame (`a.b[].c`), empty when it is the whole call. `failed` of `met`
    distinct trajectories that met the condition failed. `last_seen` is Unix time. `score` is the measured chance
    that it is right. `loud` means that the call may be held; otherwise the lesson is advice.
    """

    id: str
    condition: Condition
    key: str
    field: str
    kind: Kind
    failed: int
    met: int
    last_seen: float
    score: float
    loud: bool
    fixes: tuple[Fix, ...] = ()
    good_form: str = ""
    """Value class or pattern of `field` in calls that worked, when one form is known; else empty."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Answer this call ourselves, once; the identical call, repeated, goes through."""

    lesson: Lesson


@dataclass(frozen=True, slots=True)
class Hint:
    """Add one sentence to this failed reply."""

    lesson: Lesson


Channel = Literal["hold", "repeat", "hint", "control", "silent"]


class Said(NamedTuple):
    """What was said about a call.

    `hold`: it was answered by us and the server never saw it. `repeat`: a held call sent again unchanged, so it ran.
    `hint`: its failed reply got a sentence. `control`: a match that was left alone on purpose. `silent`: a match that
    the budget or the mode muted.
    """

    channel: Channel
    lesson: str


class Interceptor:
    """Base of all interceptors. Both hooks take microseconds: no waiting, no files, no network, no model.

    An exception is caught and the message passes on; an interceptor that keeps failing, or keeps being late, is
    switched off for the rest of the process.
    """

    def on_request(self, call: Call) -> Hold | None:
        """Called before the server sees the call. `None` passes it on untouched."""
        return None

    def on_response(self, call: Call, reply: Reply) -> Hint | None:
        """Called when the outcome is known. `None` leaves the reply untouched."""
        return None

    def on_finished(self, call: Call, reply: Reply, said: Said | None) -> None:
        """Called once for every call when all is over, also for one that was held or never answered; only to watch."""
