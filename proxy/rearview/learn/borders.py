"""Borders that an error draws: the folders that it names as allowed, outside of which an absolute path is refused."""

# ruff: noqa: RUF001 (Chinese punctuation is meant)

import re
from collections.abc import Iterator
from typing import Any

from rearview.learn.facets import Facets
from rearview.learn.keys import key_of
from rearview.learn.lazy import Lazy
from rearview.learn.outside import MAX_ROOTS, is_outside, outside_class
from rearview.learn.values import folders, plain_absolute
from rearview_interceptors.api import Condition, Kind

_BORDER_KINDS = frozenset({Kind.FORBIDDEN, Kind.ARGUMENT, Kind.OTHER, None})
_LEAD_CHARS = 80
_TAIL_CHARS = 30
_OWN = "\x00"

_ABSOLUTE = Lazy(r"(?:(?<=[\s'\"`(=:,\[])|^)(/(?!/)[^\s'\"`,;:()\]]+)")
_DENIED_OUTSIDE = Lazy(
    r"outside|not allowed|allowed (?:director|folder|path|root)|within|not (?:in|under|below)\b", re.IGNORECASE
)
_PLACE = Lazy(
    r"['\"`“‘「](/[^'\"`”’」\n]{1,200})['\"`”’」]"
    r"|(?<![\w./~\x00-])(/[^\s'\"`,;:()\[\]{}<>“”‘’，。；：、（）「」\u4e00-\u9fff\x00]+)"
    r"|(?<=[\u4e00-\u9fff])(/[^\s'\"`,;:()\[\]{}<>“”‘’，。；：、（）「」\u4e00-\u9fff\x00]+)"
    r"|(\x00)"
)
_SAYS_BORDER = Lazy(
    r"allowed|permitted|within|inside|outside|workspace|sandbox|subpath|restricted to|\broots?\b"
    r"|\bnot (?:in|under|below)\b|允许|范围|工作区|根目录|之外|不在|超出|限制|限于",
    re.IGNORECASE,
)
_SAYS_BORDER_AFTER = Lazy(
    r"\W*(?:is|are) (?:the )?(?:only |an? )?(?:allowed|permitted|accessible|root|workspace)"
    r"|\s*(?:之内|以内|内|之外|以外)",
    re.IGNORECASE,
)
_BETWEEN_ROOTS = Lazy(r"[\s,;、，；'\"`\[\]]*(?:and|or|和|或|及)?[\s'\"`]*", re.IGNORECASE)
_FILE = Lazy(r"\.[A-Za-z0-9]{1,5}$")


def denied_folders(error: str, path: str, value: Any, kind: Kind | None) -> Iterator[str]:
    """Keys of the folders of one denied path: those that hold nothing else that the error names."""
    if kind is not Kind.FORBIDDEN:
        return
    below = folders(value)
    if not below or (value not in error and below[-1] not in error):
        return
    said = {value.rstrip("./"), below[-1]}
    elsewhere = [place for found in absolute_paths(error) if (place := found.rstrip("./")) not in said]
    if not (elsewhere and _DENIED_OUTSIDE.pattern.search(error)):
        # Nothing says where the border runs, so it is drawn as closely as can be.
        below = below[-2:]
    for folder in below:
        if not any(place == folder or place.startswith(folder + "/") for place in elsewhere):
            yield key_of(Condition.CLASS, (path, f"abspath^{folder}"))


def absolute_paths(error: str) -> list[str]:
    """Absolute paths in an error, as they stand there."""
    found: list[str] = _ABSOLUTE.pattern.findall(error)
    return found


def outside_border(error: str, facets: Facets, kind: Kind | None) -> Iterator[str]:
    """Keys of absolute paths that are in none of the folders which the error names as allowed.

    The error has to name the path that it refused, or there is only one that it can mean.
    """
    absolute = [(path, value) for path, value in facets.leaves if plain_absolute(value)]
    if kind not in _BORDER_KINDS or not absolute:
        return
    said = [(path, value) for path, value in absolute if _names(error, value)]
    meant = said or (absolute if len(absolute) == 1 else [])
    roots = _allowed(error, [value for _, value in absolute])
    name = outside_class(roots) if 0 < len(roots) <= MAX_ROOTS else ""
    # A path in one of the folders was refused for another reason, and there is no telling which of them count.
    if name and all(is_outside(value, tuple(roots)) for _, value in meant):
        yield from (key_of(Condition.CLASS, (path, name)) for path, _ in meant)


def _names(error: str, value: str) -> bool:
    return any(re.search(_whole(text), error) for text in {value, plain_absolute(value)})


def _whole(path: str) -> str:
    return r"(?<![A-Za-z0-9_./~-])" + re.escape(path) + r"(?!\.?[A-Za-z0-9_/-])"


def _allowed(error: str, own: list[str]) -> list[str]:
    for text in sorted({text for value in own for text in (value, plain_absolute(value))}, key=len, reverse=True):
        error = re.sub(_whole(text), _OWN, error)
    roots: dict[str, None] = {}
    places = list(_PLACE.pattern.finditer(error))
    last_end, last_is_root = 0, False
    for index, place in enumerate(places):
        found = place[1] or place[2] or place[3] or ""
        before = error[last_end : place.start()][-_LEAD_CHARS:]
        after = error[place.end() : places[index + 1].start() if index + 1 < len(places) else None][:_TAIL_CHARS]
        listed = last_is_root and _BETWEEN_ROOTS.pattern.fullmatch(before) is not None
        told = _SAYS_BORDER.pattern.search(before) or _SAYS_BORDER_AFTER.pattern.match(after)
        root = plain_absolute(found.rstrip("."))
        last_is_root = len(root) > 1 and bool(listed or told) and not _FILE.pattern.search(root)
        if last_is_root:
            roots[root] = None
        last_end = place.end()
    return list(roots)
