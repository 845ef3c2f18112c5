"""Whether an error mentions something only as the place in which something else was looked for, and not found."""

# ruff: noqa: RUF001 (Chinese punctuation is meant)

import re
from collections.abc import Container

from rearview.learn.facets import Facets
from rearview.learn.lazy import Lazy

_BEFORE_CHARS = 200
_AFTER_CHARS = 120

# What is left of a mention but belongs to it: the folders before a file's name.
_TOKEN_START = Lazy(r"[A-Za-z0-9_./\\@~%+-]*$")
_SENTENCE_END = Lazy(r"[.!?;]\s|[。！？；]|\n\s*\n")
_SOUGHT = Lazy(
    r"\bno\b|\bnothing\b|\bmissing\b|\bunknown\b|\babsent\b|\bambiguous\b|\bmore than (?:one|once)\b"
    r"|\b(?:not|cannot|can't|couldn't|didn't|doesn't|isn't|wasn't|don't|aren't) (?:\w+ ){0,2}?"
    r"(?:find|found|locate|located|match|matched|exist|occur|appear|present|unique|resolve|resolved|contain)\b"
    r"|\b(?:unable|fail(?:ed|s)?) to (?:find|locate|match|resolve)\b"
    r"|\b(?:\d+|zero|two|three|multiple|several|many) (?:\w+ )?(?:match|occurrence|instance|time|result|cop)\w*"
    r"|(?:未|没有?|没能|无法|不能)(?:能|够)?(?:找到|发现|匹配|查到|搜索到|定位)|找不到|查不到|不存在|没有|无匹配|不唯一|多处"
    r"|未知|缺少|匹配到\s*\d+|出现了?\s*\d+",
    re.IGNORECASE,
)
# What is looked for in a file, and is never a file.
_PIECE = Lazy(
    r"\b(?:text|string|substring|pattern|snippet|hunk|occurrences?|exact match)\b|文本|字符串|子串|片段|匹配项",
    re.IGNORECASE,
)
_FILE_LIKE = Lazy(r"[/\\]|\w\.[A-Za-z]\w{0,4}$")
_PLAIN_WORD = re.compile(r"[A-Z]?[a-z]+")
_QUOTE = r"[`'\"“”‘’「」《》]"
_PLACE_ZH = r"(?:文件|目录|文件夹|路径|数据库|数据表|表|文档|页面|仓库|项目|集合|工作表|工作区)"
_LEADS_IN = Lazy(
    r"(?:\b(?:in|inside|within|under|from)\s+(?:(?:the|this|that|your|its|an?|any|given|specified|target|current)\s+)*"
    r"(?:(?!(?:named|called|for|with|and|or|to|of|matching|is|was|are|as|by)\b)[a-z]+:?\s+){0,2}"
    rf"|[在于从]\s*(?:该|此|指定的?|目标|当前)?{_PLACE_ZH}?\s*[:：]?\s*){_QUOTE}?$",
    re.IGNORECASE,
)
_GOES_ON = Lazy(rf"{_QUOTE}?\s*(?:这个|该)?{_PLACE_ZH}?\s*(?:之中|之内|[中里内])")
_LACKS = Lazy(
    rf"{_QUOTE}?\s+(?:(?:does|do|did)(?:n't| not) (?:contain|include|have|hold)|contains? no|ha(?:s|d) no)\b"
    rf"|{_QUOTE}?\s*{_PLACE_ZH}?\s*(?:不包含|没有包含|未包含|不含)",
    re.IGNORECASE,
)


def names_only_places(hits: list[tuple[str, str]], quoted: Container[str], error: str, facets: Facets) -> bool:
    """Whether an error says of these values only that something else of the call was not found in them.

    Beside a place, a plain word inside a phrase ("no exact match in …") is the error's own rather than the call's.
    """
    others = [value for _, value in hits if not only_a_place(value, error)]
    if len(others) == len(hits) or not holds_more(facets, hits):
        return False
    return not any(value.lower() in quoted or _stands_alone(value, error) for value in others)


def _stands_alone(value: str, error: str) -> bool:
    if not _PLAIN_WORD.fullmatch(value):
        return True
    ends = r"\s*(?:$|[.,;:!)\n]|(?:in|not|is|was|does|did|could|under|within|inside|from)\b|[^\x00-\x7f])"
    return re.search(rf"(?<!\w){value}(?![A-Za-z0-9_]){ends}", error, re.IGNORECASE) is not None


def holds_more(facets: Facets, known: Container[tuple[str, str]]) -> bool:
    """Whether a call holds a text or number besides some of its values."""
    return any(
        isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value).strip()
        for path, value in facets.leaves
        if (path, str(value)) not in known
    )


def only_a_place(text: str, error: str) -> bool:
    """Whether every mention of `text` in an error is the place of a search: `no such word in <text>`.

    False when it is not mentioned at all, and for what was itself not found, wherever that was looked for.
    """
    mentions = _mentions(text, error)
    if mentions and _FILE_LIKE.pattern.search(text) and " " not in text and _misses_a_piece(error):
        return True
    return bool(mentions) and all(_is_place(error, start, end) for start, end in mentions)


def _misses_a_piece(error: str) -> bool:
    sentences = _SENTENCE_END.pattern.split(error)
    return any(_PIECE.pattern.search(each) and _SOUGHT.pattern.search(each) for each in sentences)


def _mentions(text: str, error: str) -> list[tuple[int, int]]:
    before = r"(?<!\w)" if text[:1].isalnum() else ""
    after = r"(?![A-Za-z0-9_])" if text[-1:].isalnum() else ""
    found = re.finditer(before + re.escape(text) + after, error, re.IGNORECASE)
    return [found.span() for found in found] if text else []


def _is_place(error: str, start: int, end: int) -> bool:
    found = _TOKEN_START.pattern.search(error, max(0, start - _BEFORE_CHARS), start)
    start = found.start() if found else start
    before = _SENTENCE_END.pattern.split(error[max(0, start - _BEFORE_CHARS) : start])[-1]
    after = _SENTENCE_END.pattern.split(error[end : end + _AFTER_CHARS])[0]
    if _LACKS.pattern.match(after):
        return True
    placed = _LEADS_IN.pattern.search(before) or _GOES_ON.pattern.match(after)
    return placed is not None and _SOUGHT.pattern.search(f"{before} \n {after}") is not None
