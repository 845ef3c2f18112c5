"""How the arguments of a call that worked differ from those of the call that failed, as typed fixes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rearview.learn.facets import Facets, is_free_text, is_opaque, json_type, names_in, pattern, value_class
from rearview.learn.keys import parse
from rearview_interceptors.api import Condition, Fix

MAX_TO_CHARS = 120

_IDENTIFIER = re.compile(r"[A-Za-z_][\w./-]{0,63}")
_NEVER_NAMED = re.compile(
    r"url|uri|host|domain|address|mail|amount|price|sum|total|command|cmd|shell|script|code|args|flag|token|secret|password"
    r"|user|phone|account|iban|recipient|content|body|message|text",
    re.IGNORECASE,
)
_DATED = frozenset({"date", "datetime", "time", "otherdate"})
_NAMED_CLASSES = frozenset({"word", "relpath", "id"})


def repairs(before: Mapping[str, Any], after: Mapping[str, Any], facets: Facets, cleared: Iterable[str]) -> list[Fix]:
    """Return the differences, keys first. `cleared` are the blamed conditions that the second call no longer meets."""
    blamed = {path for key in cleared if (parsed := parse(key)) for path, _ in parsed.parts}
    found = dict.fromkeys(_key_changes(before, after))
    for key in sorted(before.keys() & after.keys(), key=str):
        if before[key] != after[key]:
            found.update(dict.fromkeys(_value_changes(str(key), before[key], after[key], blamed, cleared)))
    inner = Facets(after)
    found.update(dict.fromkeys(_inner_changes(facets, inner)))
    return [fix for fix in found if len(fix.to) <= MAX_TO_CHARS]


def _key_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Fix]:
    gone = sorted(before.keys() - after.keys())
    come = sorted(after.keys() - before.keys())
    for old in list(gone):
        new = next((key for key in come if _same_value(before[old], after[key])), None)
        if new is None and len(gone) == len(come) == 1 and json_type(before[old]) == json_type(after[come[0]]):
            new = come[0]
        if new is not None:
            gone.remove(old)
            come.remove(new)
            yield Fix("rename", old, new)
    for key in come:
        yield Fix("add", key, value_class(after[key]) if json_type(after[key]) == "string" else json_type(after[key]))
    for key in gone:
        yield Fix("drop", key)


def _same_value(old: Any, new: Any) -> bool:
    return bool(old in (new, [new]) or [old] == new or (isinstance(old, str) and _prefix(old, new)))


def _value_changes(path: str, old: Any, new: Any, blamed: set[str], cleared: Iterable[str]) -> Iterator[Fix]:
    if is_opaque(old) or is_opaque(new):
        return
    if json_type(old) != json_type(new):
        yield Fix("type", path, json_type(new))
        return
    if not isinstance(old, str) or not isinstance(new, str):
        return
    if is_free_text(old) or is_free_text(new):
        yield from _renamed_inside(path, old, new, cleared)
        return
    yield from _form_changes(path, old, new, blamed)


def _form_changes(path: str, old: str, new: str, blamed: set[str]) -> Iterator[Fix]:
    before, after = value_class(old), value_class(new)
    folder = _prefix(old, new)
    if folder:
        yield Fix("prefix", path, folder)
    if after in _DATED and pattern(new) != pattern(old):
        yield Fix("convert", path, pattern(new) or after)
    elif before != after:
        yield Fix("convert", path, after)
    elif path in blamed and after in _NAMED_CLASSES and _IDENTIFIER.fullmatch(new) and not _NEVER_NAMED.search(path):
        yield Fix("known_name", path, new)


def _prefix(old: str, new: Any) -> str:
    """The folder that was put before a relative path; empty if that is not what happened."""
    tail = old.removeprefix("./").rstrip("/")
    if not isinstance(new, str) or old[:1] in {"/", "~"} or not tail or not new.rstrip("/").endswith("/" + tail):
        return ""
    folder = new.rstrip("/")[: -len(tail) - 1]
    return folder if folder.startswith(("/", "~")) else ""


def _renamed_inside(path: str, old: str, new: str, cleared: Iterable[str]) -> Iterator[Fix]:
    """A name in a query that was replaced, if exactly one of its sort came in."""
    gone, come = names_in(old).names, names_in(new).names
    for key in cleared:
        parsed = parse(key)
        if parsed is None or parsed.condition is not Condition.NAME:
            continue
        name = parsed.parts[0][1]
        sort = name.partition(":")[0]
        fresh = sorted(other for other in come - gone if other.partition(":")[0] == sort)
        if sort in {"tbl", "col"} and len(fresh) == 1:
            word = fresh[0].rpartition("." if sort == "col" else ":")[2]
            if _IDENTIFIER.fullmatch(word):
                yield Fix("known_name", path, word)


def _inner_changes(before: Facets, after: Facets) -> Iterator[Fix]:
    """Keys and types below the top level that changed while their parent stayed."""
    old, new = _nested(before), _nested(after)
    parents = {path.rpartition(".")[0] for path in old} & {path.rpartition(".")[0] for path in new}
    gone = sorted(path for path in old.keys() - new.keys() if path.rpartition(".")[0] in parents)
    come = sorted(path for path in new.keys() - old.keys() if path.rpartition(".")[0] in parents)
    if len(gone) == len(come) == 1 and old[gone[0]] == new[come[0]]:
        yield Fix("rename", gone[0], come[0])
        return
    retyped = [path for path in sorted(old.keys() & new.keys()) if old[path] != new[path]]
    for path in retyped:
        yield Fix("type", path, new[path])
    for path in come:
        if not path.startswith(tuple(f"{each}[]" for each in retyped)):
            yield Fix("add", path, new[path])
    for path in gone:
        yield Fix("drop", path)


def _nested(facets: Facets) -> dict[str, str]:
    return {path: kind for path, kind in sorted(facets.types) if "." in path}
