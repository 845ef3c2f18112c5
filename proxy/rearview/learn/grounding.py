"""Which part of a call's own arguments an error names, so that only that part is blamed."""

import posixpath
import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from rearview.learn.borders import absolute_paths, denied_folders, outside_border
from rearview.learn.facets import Facets, folders, is_free_text, is_scalar, names_in, pattern, value_class
from rearview.learn.issues import EXTRA, MISSING, TYPE, Issue, issues_of
from rearview.learn.keys import key_of
from rearview.learn.lazy import Lazy
from rearview.learn.places import holds_more, names_only_places, only_a_place
from rearview_interceptors.api import Condition, Kind

MAX_ERROR_CHARS = 1500
MAX_VALUES = 3
MIN_VALUE_CHARS = 3
MIN_NAME_CHARS = 4

_QUOTED = Lazy(r"[`'\"“‘]([^`'\"“”‘’\n]{1,120})[`'\"”’]")  # noqa: RUF001 - servers do write curly quotes
_WORDS = re.compile(r"\w+")
_SHELL_WORDS = Lazy(r"[\w./:@~+=-]+")
_TELLING = Lazy(r"[\d_./-]")
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
# Validation errors repeat the arguments, which blames nothing.
_ECHO = Lazy(r"input_value=.*?(?=, input_type=|$)", re.DOTALL)
_SQL_NAMED = Lazy(
    r"(?:no such (?:table|column|function)|(?:table|column|relation|view|collection|near)):? +"
    r"[\"'`]?([A-Za-z_][\w.$]*)",
    re.IGNORECASE,
)
_GONE = Lazy(r"enoent|no such file|not found|does(?:n't| not) exist|cannot find|不存在|找不到", re.IGNORECASE)
_PATHLIKE = frozenset({"relpath", "uppath", "homepath"})
_DATED = frozenset({"otherdate", "datetime", "time", "date"})
_WRONG_FORMS = frozenset({"otherdate", "listtext", "json", "blank", "null", "emptylist", "emptydict"})


def named_by(
    error: str, facets: Facets, kind: Kind | None = None, schema: Mapping[str, Any] | None = None
) -> list[str]:
    """Keys of type value, name, key and lack that an error gives ground for; sorted.

    With a schema, a key counts as lacking only if the schema knows it.
    """
    error = _readable(error)
    found = set(_values(error, facets, kind)) | set(_names(error, facets))
    if kind is Kind.ARGUMENT or (kind in {None, Kind.OTHER} and _ARGUMENT.pattern.search(error)):
        issues = issues_of(error)
        found.update(_keys(error, issues, facets))
        properties = schema.get("properties") if schema else None
        found.update(_lacking(issues, facets, properties if isinstance(properties, Mapping) and properties else None))
    return sorted(key for key in found if key)


def _readable(error: str) -> str:
    return _ECHO.pattern.sub("", error[:MAX_ERROR_CHARS].replace('\\"', '"'))


def _values(error: str, facets: Facets, kind: Kind | None) -> Iterator[str]:
    low = error.lower()
    quoted = {text.strip().lower() for text in _QUOTED.pattern.findall(error)}
    hits = sorted(part for part in facets.values if _said(part[1].lower(), low, quoted))
    if not hits or (kind is not Kind.FORBIDDEN and names_only_places(hits, quoted, error, facets)):
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
    quoted = [word for text in _QUOTED.pattern.findall(error) if not only_a_place(word := text.strip(), error)]
    for _, text in facets.leaves:
        if not is_free_text(text):
            continue
        read = names_in(text)
        if read.language == "sql":
            named = [word for word in _SQL_NAMED.pattern.findall(error) if not only_a_place(word, error)]
            spoken = {*quoted, *named}
            candidates = {name for word in spoken for name in _sql_names(word.lower(), read.aliases, read.only)}
        elif read.language == "py":
            candidates = {kind + word for word in quoted for kind in ("free:", "mod:", "attr:", "imp:")}
        else:
            low = {word.lower() for word in quoted}
            words = {word.strip(".:,'`\"").lower() for word in _SHELL_WORDS.pattern.findall(error)}
            candidates = {
                word for word in words if len(word) >= MIN_NAME_CHARS and (_TELLING.pattern.search(word) or word in low)
            }
        yield from (
            key_of(Condition.NAME, ("", name)) for name in candidates & read.names if not only_a_place(name, error)
        )


def _sql_names(word: str, aliases: Mapping[str, str], only: str) -> tuple[str, str, str]:
    head, _, last = word.rpartition(".")
    return f"tbl:{last}", f"tbl:{word}", f"col:{aliases.get(head, head) if head else only}.{last}"


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


def forms_named_by(error: str, facets: Facets, kind: Kind | None, mended: Facets | None = None) -> list[str]:
    """Those class and pattern conditions of a call that the error itself gives ground for; sorted.

    A relative path that shows up resolved, folders that access was denied to, a wrong date format: they may be
    blamed with nothing else known of the tool, any other form only in contrast to forms that worked. `mended` is the
    next call of the tool that worked: a file that was not there is no matter of form, unless it shows otherwise.
    """
    error = _readable(error)
    found = set(outside_border(error, facets, kind))
    for path, value in facets.leaves:
        found.update(denied_folders(error, path, value, kind))
        if kind is not Kind.NOT_FOUND or not _GONE.pattern.search(error) or _was_mended(path, value, mended):
            found.update(_relative(error, path, value, kind, facets))
        found.update(_misformatted(error, path, value, kind, facets))
    return sorted(key for key in found if key)


def _relative(error: str, path: str, value: Any, kind: Kind | None, facets: Facets) -> Iterator[str]:
    name = value_class(value)
    if not (name in _PATHLIKE or name == "word") or kind is Kind.ARGUMENT or not is_scalar(value):
        return
    tail = _below_its_start(value)
    if name == "relpath" and tail != value.removeprefix("./").rstrip("/") and ".." in value.split("/"):
        # What is wrong with `a/../b` may be its dots, of which no other relative path has any.
        return
    own = {other.rstrip("/") for _, other in facets.values if folders(other)}
    places = [found for found in absolute_paths(error) if tail and found.endswith("/" + tail)]
    if kind is not Kind.FORBIDDEN and holds_more(facets, [(path, value)]):
        places = [found for found in places if not only_a_place(found, error)]
    resolved = any(found[: -len(tail)].rstrip("/") not in own for found in places)
    denied = kind is Kind.FORBIDDEN and name in _PATHLIKE and (not tail or tail in error)
    if resolved or denied:
        yield key_of(Condition.CLASS, (path, name))


def _was_mended(path: str, value: Any, mended: Facets | None) -> bool:
    """Whether the same file was found by an absolute path."""
    if mended is None or not isinstance(value, str) or not value:
        return False
    tail = "/" + _below_its_start(value)
    return any(
        where == path and folders(good) and str(good).rstrip("/").endswith(tail) for where, good in mended.leaves
    )


def _below_its_start(value: str) -> str:
    """How a path that isn't absolute ends once somebody has resolved it: `x` of `../x`, `./x`, `~me/x`."""
    if value[0] == "~":
        value = value.partition("/")[2]
    tail = posixpath.normpath(value) if value else "."
    while tail.startswith("../"):
        tail = tail[3:]
    return "" if tail in {".", ".."} else tail


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
