"""Lessons about the shape of a whole call, found without writing the shape down unless the keys already fit."""

from collections.abc import Collection, Mapping
from typing import Any, cast

from rearview.learn.facets import MAX_SHAPE_CHARS, shape
from rearview.learn.path_lookups import Ranks, add
from rearview.learn.quick import quick_class
from rearview.learn.values import value_class

_LONGEST_CLASS = 12


class Shapes:
    """Shapes that are known to fail."""

    __slots__ = ("_by_keys", "_is_odd", "_ranks")

    def __init__(self) -> None:
        self._ranks: dict[str, Ranks] = {}
        self._by_keys: dict[frozenset[str], tuple[list[str], dict[str, Any]]] = {}
        """By their keys: the keys in order, and a tree of the classes of their values in that order."""
        self._is_odd = False
        """Whether one of the shapes is hashed, or can't be taken apart; then calls have to be written down."""

    def add(self, text: str, rank: int) -> None:
        """Learn that calls of this shape fail."""
        add(self._ranks, text, rank)
        parts = [part.rpartition("=") for part in text.split("|")]
        keys = sorted({path for path, _, _ in parts})
        if text[:1] == "#" or "" in keys:
            self._is_odd = True
            return
        _, tree = self._by_keys.setdefault(frozenset(keys), (keys, {}))
        if len(keys) == len(parts):
            classes = {path: name for path, _, name in parts}
            for key in keys[:-1]:
                tree = tree.setdefault(classes[key], {})
            add(tree, classes[keys[-1]], rank)

    def of_flat(self, arguments: Mapping[str, Any]) -> Ranks:
        """Look up arguments that hold no objects and lists."""
        known = self._by_keys.get(frozenset(arguments))
        if known is None or self._is_odd:
            return self._written(arguments, arguments)
        keys, tree = known
        found: Any = tree
        for key in keys:
            value = arguments[key]
            found = found.get(quick_class(value) if type(value) is str else value_class(value))
            if found is None:
                return ()
        return cast("Ranks", found)

    def of_nested(self, arguments: Mapping[str, Any], paths: Collection[str]) -> Ranks:
        """Look up any arguments, given the paths of their leaves."""
        return self._written(arguments, paths)

    def _written(self, arguments: Mapping[str, Any], paths: Collection[str]) -> Ranks:
        """Look up by the whole text, if it could be one that is hashed or can't be taken apart."""
        names = "".join(paths)
        size = len(names) + _LONGEST_CLASS * len(paths)
        odd = self._is_odd and (size > MAX_SHAPE_CHARS or "#" in names or "" in self._ranks)
        if odd or "|" in names or "" in paths:
            return self._ranks.get(shape(arguments), ())
        return self._ranks.get(shape(arguments), ()) if frozenset(paths) in self._by_keys else ()
