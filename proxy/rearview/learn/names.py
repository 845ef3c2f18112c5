"""Identifiers inside SQL, Python and shell text, read with regular expressions only and within fixed limits."""

import builtins
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from rearview.learn.lazy import Lazy

MAX_TEXT_CHARS = 4000
MAX_NAMES = 200
MAX_WORDS = 150

SQL_START = re.compile(
    r"\s*\(?\s*(select|show|desc|describe|with|insert|update|delete|create|drop|alter|use|explain)\s", re.IGNORECASE
)
_SQL_FROM = Lazy(
    r"\b(?:from|join|update|into|desc|describe|columns from|table)\s+[`\"]?(\w+)[`\"]?(?:\.[`\"]?(\w+)[`\"]?)?"
    r"(?:\s+(?:as\s+)?(\w+))?",
    re.IGNORECASE,
)
_SQL_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "select from where join on as and or not in is null group by order having limit distinct count sum "
        "avg min max inner left right outer union all asc desc like between case when then else end exists "
        "show tables describe columns database databases use with set values into insert update delete create "
        "table cast int intersect except if year month date concat round substring length using cross natural "
        "offset any true false information_schema",
    )
)
_WORD = Lazy(r"[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*")
_SQL_STRING = Lazy(r"'[^']*'|\"[^\"]*\"")
_SHELL_WORD = Lazy(r"[\w./:@~+=-]+")
_PYTHON = Lazy(r"^\s*(?:def |import |from \w+ import|print\(|for \w+ in |class |\w+ = )", re.MULTILINE)
_FENCE = Lazy(r"^```\w*\n|```\s*$")
_PY_IMPORT = Lazy(r"^\s*(?:from\s+(\w+)[\w.]*\s+import\s+([\w, ]+)|import\s+([\w., ]+))", re.MULTILINE)
_PY_BOUND = Lazy(r"\b(?:def|class|for|as|global|lambda)\s+(\w+)|\b(\w+)\s*(?::\s*\w+\s*)?=(?!=)")
_PY_STRING = Lazy(r"'[^'\n]*'|\"[^\"\n]*\"|#[^\n]*")
_PY_NAME = Lazy(r"(?<![\w.])([A-Za-z_]\w*)")
_PY_ATTRIBUTE = Lazy(r"\.([A-Za-z_]\w*)")
_PY_PARAMETERS = Lazy(r"\b(?:def\s+\w+\s*\(|lambda\s)([^)\n:]*)")
_PY_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "False None True and as assert async await break class continue def del elif else except finally for "
        "from global if import in is lambda nonlocal not or pass raise return try while with yield match case "
        "self cls",
    )
)
_BUILTINS = frozenset(dir(builtins))


class Names(NamedTuple):
    """Names in one text; `aliases` and `only` resolve an SQL column to its table, and are empty for other languages."""

    language: str
    names: frozenset[str]
    aliases: Mapping[str, str]
    only: str


def names_in(text: str) -> Names:
    """Read the first 4,000 characters; at most 200 names, the first in alphabetical order."""
    text = text[:MAX_TEXT_CHARS]
    if SQL_START.match(text):
        return _sql(text)
    code = _FENCE.pattern.sub("", text)
    if _PYTHON.pattern.search(code):
        return Names("py", _limited(_python(code)), {}, "")
    return Names("txt", _limited(_shell(text)), {}, "")


def _limited(names: set[str]) -> frozenset[str]:
    return frozenset(names if len(names) <= MAX_NAMES else sorted(names)[:MAX_NAMES])


def _sql(query: str) -> Names:
    aliases: dict[str, str] = {}
    tables: set[str] = set()
    names: set[str] = set()
    for first, second, alias in _SQL_FROM.pattern.findall(query):
        table = (second or first).lower()
        tables.add(table)
        names.add(f"tbl:{first.lower()}.{table}" if second else f"tbl:{table}")
        aliases[table] = table
        if alias and alias.lower() not in _SQL_KEYWORDS:
            aliases[alias.lower()] = table
    only = "+".join(sorted(tables))
    for found in _WORD.pattern.findall(_SQL_STRING.pattern.sub(" ", query)):
        word = found.lower()
        head, _, column = word.rpartition(".")
        if head:
            names.add(f"col:{aliases.get(head.rpartition('.')[2], head)}.{column}")
        elif word not in _SQL_KEYWORDS and word not in aliases:
            names.add(f"col:{only}.{word}")
    return Names("sql", _limited(names), aliases, only)


def _python(code: str) -> set[str]:
    names: set[str] = set()
    bound: set[str] = set()
    for module, members, modules in _PY_IMPORT.pattern.findall(code):
        if module:
            names.add(f"mod:{module}")
            bound.add(module)
            imported = [member.split() for member in members.split(",")]
            names.update(f"imp:{words[0]}" for words in imported if words)
        else:
            imported = [member.split() for member in modules.replace(".", " ").split(",")]
            names.update(f"mod:{words[0]}" for words in imported if words)
        bound.update(word for words in imported for word in words)
    plain = _PY_STRING.pattern.sub(" ", code)
    bound.update(name for pair in _PY_BOUND.pattern.findall(plain) for name in pair if name)
    bound.update(name for group in _PY_PARAMETERS.pattern.findall(plain) for name in _PY_NAME.pattern.findall(group))
    used = set(_PY_NAME.pattern.findall(plain)) - bound - _BUILTINS - _PY_KEYWORDS
    names.update(f"free:{name}" for name in used)
    names.update(f"attr:{name}" for name in _PY_ATTRIBUTE.pattern.findall(plain))
    return names


def _shell(text: str) -> set[str]:
    words = _SHELL_WORD.pattern.findall(text)[:MAX_WORDS]
    names = {word.lower() for word in words if len(word) > 1}
    if words:
        names.add(f"cmd:{words[0]}")
    return names | {f"{first} {flag}" for first, flag in pairwise(words) if flag.startswith("-")}
