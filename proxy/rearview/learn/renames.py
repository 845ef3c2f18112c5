"""Extra keys of a call that were meant to be other ones: what to rename."""

from collections.abc import Iterator, Mapping
from typing import Any

from rearview.learn.violations import Violation, types_of


def renames_of(found: list[Violation]) -> Iterator[tuple[str, str]]:
    """Extra keys and the missing keys that they were meant to be: by name, or the only one of each."""
    missing = [each for each in found if each.what == "missing"]
    extra = [each for each in found if each.what == "extra"]
    alone = len(missing) == 1 and len(extra) == 1
    taken: set[str] = set()
    for wanted in missing:
        near = [
            other
            for other in extra
            if other.path not in taken
            and other.path.rpartition(".")[0] == wanted.path.rpartition(".")[0]
            and _could_be(other.value, wanted.schema)
            and (alone or _alike(other.path.rpartition(".")[2], wanted.path.rpartition(".")[2]))
        ]
        if len({other.path for other in near}) == 1:
            taken.add(near[0].path)
            yield near[0].path, wanted.path


def _could_be(value: Any, schema: Mapping[str, Any]) -> bool:
    types = types_of(schema)
    name = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return not types or name.get(type(value)) in types or (type(value) is int and "number" in types)


def _alike(one: str, other: str) -> bool:
    one, other = (name.lower().replace("_", "").replace("-", "") for name in (one, other))
    short, long = sorted((one, other), key=len)
    return len(short) > 1 and (short in long or long[:3] == short[:3])
