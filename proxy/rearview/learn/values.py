"""What one argument value is: its JSON type, class, pattern, host and leading folders."""

import re
from collections.abc import Mapping
from typing import Any

from rearview.learn.lazy import Lazy
from rearview.learn.names import SQL_START

MAX_PATTERN_CHARS = 20
MAX_VALUE_CHARS = 80
MAX_PATH_CHARS = 400
MAX_FOLDERS = 8
SHORT_TEXT_CHARS = 40
FREE_TEXT_CHARS = 60
FREE_TEXT_SPACES = 3

_URL = Lazy(r"[A-Za-z][\w+.-]*://([^/\s?#]+)")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_DATE = Lazy(r"\d{4}-\d\d-\d\d")
_DATETIME = Lazy(r"\d{4}-\d\d-\d\d[T ]\d\d?:\d\d\S*( ?[A-Za-z]+)?")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_OTHER_DATE = Lazy(
    r"(?:\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}|\d{4}[/.]\d{1,2}[/.]\d{1,2}|\d{4}-\d{1,2}-\d{1,2}|(?:19|20)\d{6}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?[ -]{_MONTH}[ ,-]*(?:\d{{2,4}})?|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)"
    r"(?:[ T,]+\d{1,2}:\d\d\S*)?",
    re.IGNORECASE,
)
_TIME = Lazy(r"\d{1,2}:\d\d(:\d\d)?")
_NUMBER = Lazy(r"[+-]?\d+(?:[.,]\d+)?%?")
_ID = Lazy(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?=\w*\d)[0-9a-f]{12,64}", re.IGNORECASE)
_LIST = Lazy(r"[^\s,]+(?:, ?[^\s,]+)+")
_EXTENSION = Lazy(r"[\w)\]-]\.(?!com$|org$|net$|gov$|edu$)[A-Za-z][A-Za-z0-9]{0,5}$")
_DIGIT = re.compile(r"\d")
_HOME = Lazy(r"~(?:[A-Za-z_][\w.-]*)?(?:[/\\].*)?")

_STRING_CLASSES = (
    ("datetime", _DATETIME),
    ("date", _DATE),
    ("otherdate", _OTHER_DATE),
    ("time", _TIME),
    ("numstr", _NUMBER),
    ("id", _ID),
)


def is_opaque(value: Any) -> bool:
    """Whether redaction or cutting took the value away, so that nothing may be concluded from what stands there."""
    if isinstance(value, str):
        return "[redacted:" in value
    return isinstance(value, Mapping) and "$cut" in value


def json_type(value: Any) -> str:
    """The JSON Schema type of a value; a cut text is still a string."""
    if isinstance(value, str) or (isinstance(value, Mapping) and "$cut" in value and "head" in value):
        return "string"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"


def value_class(value: Any) -> str:
    """What kind of value this is (`abspath`, `date`, `word`, …); empty when it was redacted or cut."""
    if isinstance(value, str):
        return _string_class(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "num-" if value < 0 else "num0" if value == 0 else "num+"
    if is_opaque(value):
        return "text" if "head" in value else ""
    return "emptylist" if isinstance(value, list) else "emptydict"


def _string_class(value: str) -> str:
    if not value or value.isspace():
        return "blank"
    if "[redacted:" in value:
        return ""
    first = value[0]
    if first in "[{" and value[-1] in "]}":
        return "json"
    if _URL.pattern.match(value):
        return "url"
    if "\n" in value:
        return "text"
    return "abspath" if first in "/\\" or _DRIVE.match(value) else _line_class(value)


def climbs(value: str) -> bool:
    """Whether a relative path leads out of the folder that it starts in: `../x`, `a/../../b`, never `a/../b`."""
    depth = 0
    for part in value.replace("\\", "/").split("/"):
        if part == "..":
            depth -= 1
        elif part not in {"", "."}:
            depth += 1
        if depth < 0:
            return True
    return False


def _line_class(value: str) -> str:
    if value[0] == "~" and _HOME.pattern.fullmatch(value):
        return "homepath"
    if ".." in value and climbs(value):
        return "uppath"
    return _plain_class(value)


def _plain_class(value: str) -> str:
    if len(value) <= SHORT_TEXT_CHARS:
        for name, form in _STRING_CLASSES:
            if form.pattern.fullmatch(value):
                return name
    if "," in value and len(value) <= MAX_PATH_CHARS and _LIST.pattern.fullmatch(value):
        return "listtext"
    if " " not in value and "\t" not in value:
        if "@" in value:
            return "mail"
        if "/" in value or "\\" in value or value == "." or _EXTENSION.pattern.search(value):
            return "relpath"
    if len(value) > SHORT_TEXT_CHARS:
        return "text"
    return "words" if " " in value.strip() else "word"


def pattern(value: Any) -> str:
    """A short string with its digits blanked (`####-##-##`, `HAT###`); empty for anything long or redacted."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_PATTERN_CHARS or "[redacted:" in value:
        return ""
    return _DIGIT.sub("#", value)


def host(value: Any) -> str:
    """Host of a URL in lower case, without user information; else empty."""
    found = _URL.pattern.match(value) if isinstance(value, str) else None
    return found[1].rpartition("@")[2].lower()[:MAX_VALUE_CHARS] if found else ""


def folders(value: Any) -> tuple[str, ...]:
    """Leading folders of an absolute path, shallowest first, at most eight, with `..` resolved.

    A path is a folder of itself: `/srv/a.txt` gives `/srv` and `/srv/a.txt`. The root alone is never among them.
    """
    if not isinstance(value, str) or value[:1] not in {"/", "~"} or "\n" in value or len(value) > MAX_PATH_CHARS:
        return ()
    parts = _parts(value)
    home = value[0] == "~"
    lead = "" if home else "/"
    return tuple(lead + "/".join(parts[:depth]) for depth in range(1 + home, min(len(parts), MAX_FOLDERS) + 1))


def _parts(path: str) -> list[str]:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return parts


def plain_absolute(value: Any) -> str:
    """An absolute path with dots and doubled slashes resolved, at any depth; empty for anything else."""
    if not isinstance(value, str) or value[:1] != "/" or "\n" in value or len(value) > MAX_PATH_CHARS:
        return ""
    return "/" + "/".join(_parts(value))


def is_free_text(value: Any) -> bool:
    """Whether a value is prose, code or a query, which is read for names and never compared as a whole."""
    if not isinstance(value, str):
        return False
    if len(value) > FREE_TEXT_CHARS:
        return " " in value or "\n" in value or len(value) > MAX_PATH_CHARS
    return "\n" in value or value.count(" ") >= FREE_TEXT_SPACES or SQL_START.match(value) is not None


def is_scalar(value: Any) -> bool:
    """Whether a value may be compared as a whole: a short string that is not free text, or a number."""
    if isinstance(value, str):
        return 0 < len(value) <= MAX_VALUE_CHARS and not is_opaque(value) and not is_free_text(value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)
