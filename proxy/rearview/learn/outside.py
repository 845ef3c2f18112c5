"""The value class `abspath!^<folder>[&<folder>…]`: an absolute path that is in none of these folders."""

from collections.abc import Iterable
from typing import Any

from rearview.learn.keys import escaped, unescaped
from rearview.learn.values import plain_absolute

OUTSIDE = "abspath!^"
MAX_ROOTS = 4


def outside_class(folders: Iterable[str]) -> str:
    """Write the class, the same for the same folders in any order; empty when they can't be a border."""
    roots = sorted({plain_absolute(folder) for folder in folders})
    name = OUTSIDE + "&".join(escaped(root) for root in roots)
    return name if roots_of(name) else ""


def roots_of(name: str) -> tuple[str, ...]:
    """The folders of a class; none when it is another class, or not written as `outside_class` writes it."""
    if not name.startswith(OUTSIDE):
        return ()
    roots = tuple(unescaped(part) for part in name.removeprefix(OUTSIDE).split("&"))
    plain = all(len(root) > 1 and root.isprintable() and plain_absolute(root) == root for root in roots)
    return roots if plain and len(roots) <= MAX_ROOTS else ()


def is_outside(value: Any, roots: tuple[str, ...]) -> bool:
    """Whether a value is an absolute path in none of the folders; never true without folders."""
    path = plain_absolute(value)
    return path != "" and roots != () and is_beyond(path, roots)


def is_beyond(path: str, roots: tuple[str, ...]) -> bool:
    """The same of a path that is written plainly already."""
    return not any(path == root or path.startswith(root + "/") for root in roots)
