"""Which part of a call's own arguments an error names, so that only that part is blamed."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from rearview.learn.facets import Facets, folders, is_free_text, is_scalar, names_in, pattern, value_class
from rearview.learn.issues import EXTRA, MISSING, TYPE, Issue, issues_of
from rearview.learn.keys import key_of
from rearview.learn.lazy import Lazy
from rearview_interceptors.api import Condition, Kind

MAX_ERROR_CHARS = 1500
MAX_VALUES = 3
MIN_VALUE_CHARS = 3
MIN_NAME_CHARS = 4

_QUOTED = Lazy(r"[`'\"“‘]([^`'\"“”‘’\n]{1,120})[`'\"”’]")  # noqa: RUF001 - servers do write curly quotes
_WORDS = re.compile(r"\w+")
_SHELL_WORDS = Lazy(r"[\w./:@~+=-]+")
_TELLING = Lazy(r"[\d_./-]")
_ABSOLUTE = Lazy(r"(?:(?<=[\s'\"`(=:,\[])|^)(/[^\s'\"`,;:()\]]+)")
_ARGUMENT = Lazy(
    r"validation|invalid|unexpected|expected|argument|parameter|should be|must be|not of type|format|unconverted|schema"
    r"|required|parse|unsupported",
    re.IGNORECASE,
)
_FORMAT = Lazy(
    r"format|pars(?:e|ing)|time data|unconverted|iso.?8601|yyyy|hh:mm"
    r"|(?:invalid|malformed|bad|not a valid) (?:\w+ )?(?:date|time|datetime|timestamp)\b"
    r"|\b(?:date|time|datetime|timestamp) (?:\w+ ){0,3}(?:invalid|malformed)",
    re.IGNORECASE,
)
_COMMON = frozenset(
    _WORDS.findall(
        "all and any argument arguments array available call cannot data date directory does error exist expected "
        "failed field file files folder for found from input integer invalid key list message missing name names new "
        "none not null number object open option parameter parameters path property query read received required "
        "result server should string table text the time tool true false type undefined unknown url user valid "
        "validation value with write id"
    )
)
_OUTSIDE = Lazy(
    r"outside|not allowed|allowed (?:director|folder|path|root)|within|not (?:in|under|below)\b", re.IGNORECASE
)
# Validation errors repeat the arguments, which blames nothing.
_ECHO = Lazy(r"input_value=.*?(?=, input_type=|$)", re.DOTALL)
_SQL_NAMED = Lazy(
    r"(?:no such (?:table|column|function)|(?:table|column|relation|view|collection|near)):? +"
    r"[\"'`]?([A-Za-z_][\w.$]*)",
    re.IGNORECASE,
)
_DATED = frozenset({"otherdate", "datetime", "time", "date"})
_WRONG_FORMS = frozenset({"otherdate", "listtext", "json", "blank", "null", "emptylist", "emptydict"})


def named_by(
    error: str, facets: Facets, kind: Kind | None = None, schema: Mapping[str, Any] | None = None
) -> list[str]:
    """Keys of type value, name, key and lack that an error gives ground for; sorted.

    With a schema, a key counts as lacking only if the schema knows it.
    """
    error = _readable(error)
    found = set(_values(error, facets)) | set(_names(error, facets))
    if kind is Kind.ARGUMENT or (kind in {None, Kind.OTHER} and _ARGUMENT.pattern.search(error)):
        issues = issues_of(error)
        found.update(_keys(error, issues, facets))
        properties = schema.get("properties") if schema else None
        found.update(_lacking(issues, facets, properties if isinstance(properties, Mapping) and properties else None))
    return sorted(key for key in found if key)


def _readable(error: str) -> str:
    return _ECHO.pattern.sub("", error[:MAX_ERROR_CHARS].replace('\\"', '"'))


def _values(error: str, facets: Facets) -> Iterator[str]:
    low = error.lower()
    quoted = {text.strip().lower() for text in _QUOTED.pattern.findall(error)}
    hits = sorted(part for part in facets.values if _said(part[1].lower(), low, quoted))
    if not hits:
        return
    yield key_of(Condition.VALUE, *hits[:MAX_VALUES])
    # A path says where the call worked, and differs from task to task: what was not found there stands for itself, too.
    others = [part for part in hits if not folders(part[1])]
    if others and len(others) < len(hits):
        yield key_of(Condition.VALUE, *others[:MAX_VALUES])


def _said(value: str, error: str, quoted: Container[str]) -> bool:
    if len(value) < MIN_VALUE_CHARS or value not in error:
        return False
    if value in quoted:
        return True
    if value in _COMMON:
        return False
    before = r"(?<!\w)" if value[0].isalnum() else ""
    after = r"(?!\w)" if value[-1].isalnum() else ""
    return re.search(before + re.escape(value) + after, error) is not None


def _names(error: str, facets: Facets) -> Iterator[str]:
    quoted = [text.strip() for text in _QUOTED.pattern.findall(error)]
    for _, text in facets.leaves:
        if not is_free_text(text):
            continue
        read = names_in(text)
        if read.language == "sql":
            spoken = {*quoted, *_SQL_NAMED.pattern.findall(error)}
            candidates = {name for word in spoken for name in _sql_names(word.lower(), read.aliases, read.only)}
        elif read.language == "py":
            candidates = {kind + word for word in quoted for kind in ("free:", "mod:", "attr:", "imp:")}
        else:
            low = {word.lower() for word in quoted}
            words = {word.strip(".:,'`\"").lower() for word in _SHELL_WORDS.pattern.findall(error)}
            candidates = {
                word for word in words if len(word) >= MIN_NAME_CHARS and (_TELLING.pattern.search(word) or word in low)
            }
        yield from (key_of(Condition.NAME, ("", name)) for name in candidates & read.names)


def _sql_names(word: str, aliases: Mapping[str, str], only: str) -> tuple[str, str]:
    head, _, last = word.rpartition(".")
    return f"tbl:{last}", f"col:{aliases.get(head, head) if head else only}.{last}"


def _keys(error: str, issues: list[Issue], facets: Facets) -> Iterator[str]:
    types = dict(sorted(facets.types))
    for issue in issues:
        got = types.get(issue.path)
        if got is None:
            continue
        if issue.what == EXTRA or (issue.what == TYPE and issue.expected not in {"", got}):
            yield key_of(Condition.KEY, (issue.path, got))
    mentioned = _mentioned(error, issues)
    for path, name in facets.classes:
        if "^" not in name and path.replace("[]", "").rpartition(".")[2] in mentioned:
            yield key_of(Condition.KEY, (path, name))


def _mentioned(error: str, issues: list[Issue]) -> set[str]:
    if issues:
        return {issue.path.replace("[]", "").rpartition(".")[2] for issue in issues if issue.what != MISSING}
    quoted = {text.strip().rpartition(".")[2] for text in _QUOTED.pattern.findall(error)}
    return quoted | {word for word in _WORDS.findall(error) if len(word) > 1 and word.lower() not in _COMMON}


def _lacking(issues: list[Issue], facets: Facets, properties: Mapping[str, Any] | None) -> Iterator[str]:
    for issue in issues:
        if issue.what != MISSING or not facets.lacks(issue.path):
            continue
        if properties is None or issue.path.replace("[]", "").partition(".")[0] in properties:
            yield key_of(Condition.LACK, (issue.path, ""))


def forms_named_by(error: str, facets: Facets, kind: Kind | None) -> list[str]:
    """Those class and pattern conditions of a call that the error itself gives ground for; sorted.

    A relative path that shows up resolved, folders that access was denied to, a wrong date format: they may be
    blamed with nothing else known of the tool, any other form only in contrast to forms that worked.
    """
    error = _readable(error)
    found: set[str] = set()
    for path, value in facets.leaves:
        found.update(_denied_folders(error, path, value, kind))
        found.update(_relative(error, path, value, kind, facets))
        found.update(_misformatted(error, path, value, kind, facets))
    return sorted(key for key in found if key)


def _denied_folders(error: str, path: str, value: Any, kind: Kind | None) -> Iterator[str]:
    if kind is not Kind.FORBIDDEN:
        return
    below = folders(value)
    if not below or (value not in error and below[-1] not in error):
        return
    said = {value.rstrip("./"), below[-1]}
    elsewhere = [place for found in _ABSOLUTE.pattern.findall(error) if (place := found.rstrip("./")) not in said]
    if not (elsewhere and _OUTSIDE.pattern.search(error)):
        # Nothing says where the border runs, so it is drawn as closely as can be.
        below = below[-2:]
    for folder in below:
        if not any(place == folder or place.startswith(folder + "/") for place in elsewhere):
            yield key_of(Condition.CLASS, (path, f"abspath^{folder}"))


def _relative(error: str, path: str, value: Any, kind: Kind | None, facets: Facets) -> Iterator[str]:
    name = value_class(value)
    if name not in {"relpath", "word"} or kind is Kind.ARGUMENT or not is_scalar(value):
        return
    tail = value.lstrip("./").rstrip("/")
    own = {other.rstrip("/") for _, other in facets.values if folders(other)}
    bases = [
        found[: -len(tail)].rstrip("/")
        for found in _ABSOLUTE.pattern.findall(error)
        if tail and found.endswith("/" + tail)
    ]
    resolved = any(base not in own for base in bases)
    denied = kind is Kind.FORBIDDEN and name == "relpath" and (not tail or tail in error)
    if resolved or denied:
        yield key_of(Condition.CLASS, (path, name))


def _misformatted(error: str, path: str, value: Any, kind: Kind | None, facets: Facets) -> Iterator[str]:
    about_format = _FORMAT.pattern.search(error) is not None
    if not (about_format or kind in {Kind.ARGUMENT, Kind.OTHER, None}) or not (isinstance(value, str) or not value):
        return
    name = value_class(value)
    dated = name in _DATED and about_format
    lone = dated and sum(other in _DATED for _, other in facets.classes) == 1
    key = path.replace("[]", "").rpartition(".")[2]
    said = isinstance(value, str) and len(value) >= MIN_VALUE_CHARS and value in error
    if not (said or lone or re.search(rf"\b{re.escape(key)}\b", error)):
        return
    if name in _WRONG_FORMS and (kind is Kind.ARGUMENT or about_format):
        yield key_of(Condition.CLASS, (path, name))
    if about_format and (form := pattern(value)) and "#" in form and not is_free_text(value):
        yield key_of(Condition.PATTERN, (path, form))
