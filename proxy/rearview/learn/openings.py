"""The openings by which a text shows itself to be an error message, in English and Chinese."""

# ruff: noqa: RUF001 (Chinese punctuation is meant)

import re
from functools import cache

_HEAD_CHARS = 240
_BANNER_CHARS = 2000
_BANNER_LINES = 5
_OUTPUT_LINES = 6
_BANNERS = ("output:", "stderr:", "stdout:")
_GLANCE_CHARS = 120
_MARKS = frozenset("[{45#*-")

# First words that can open an error; a text that starts otherwise, and holds none of the words below, is not looked at.
_STARTING_WORDS = """
access authentication authorization bad can can't cannot command connection could couldn't expected exit exited fatal
file forbidden host http illegal internal invalid missing must no not operation panic path permission process rate
request segmentation sorry status syntax this time timed timeout tool too traceback unable unauthorized uncaught
unexpected unhandled unknown unrecognized unsupported url you enoent eacces eperm eexist enotdir eisdir einval enospc
econnrefused econnreset etimedout enotfound ebusy erofs epipe esrch
"""
_STARTERS = frozenset(_STARTING_WORDS.split())
_OPENINGS = frozenset(word[:2] for word in _STARTERS)

_DECORATION = (
    "\N{CROSS MARK}\N{HEAVY MULTIPLICATION X}\N{NO ENTRY}\N{NO ENTRY SIGN}\N{WARNING SIGN}\N{VARIATION SELECTOR-16}"
)
_ERRNO = (
    "e(?:noent|acces|perm|exist|notdir|isdir|inval|nospc|mfile|busy|rofs|loop|nametoolong|connrefused|connreset|pipe"
    "|timedout|notfound|srch|ai_again)"
)
_START = rf"""
    (?P<mark>[{_DECORATION}\s]*)(?:[#>*_\s]+)?
    (?:
      error\s*(?:[:!：]|\*\*|\n|$|-\s|\[\w|\(\w|code\b|\d{{2,6}}\b)
    | error[ ](?:occurred|while|when|during|from)\b
    | error[ ](?!handling|reporting|logging|tracking|processing\b.{{0,40}}$)\w+ing\b[^\n]{{0,120}}?:
    | (?!found\b|no\b|the\b|this\b|an?\b|last\b|any\b|fix\b|with\b|def\b|class\b|function\b|on\b|in\b)
      (?:[a-z_/'.\-]+[ ]){{1,3}}error\b
      \s*(?:\([^)\n]{{0,40}}\)|-?\d+|\[[^\]\n]{{0,40}}\])?\s*(?:[:!：]|$)
    | (?:[a-z_]\w*\.)*[a-z_]\w*(?:error|exception|failure)\b\s*(?:\[[^\]\n]{{0,40}}\])?\s*(?:[:(]|$|traceback)
    | (?:\w+\.){{0,4}}(?:errors?|exceptions?)\.\w+:[ ]
    | exception\b\s*(?:[:!(]|in[ ]thread|occurred)
    | (?:unhandled|uncaught)\b
    | traceback[ ]\(most[ ]recent
    | {_ERRNO}\b
    | fatal\s*(?:error)?\s*[:!]
    | panic:
    | segmentation[ ]fault
    | failed[ ](?:to|with|while|due|because)\b
    | failure[:!]
    | (?!\d)(?:[a-z][\w'\-]*[ ]){{1,4}}failed(?:[ ](?:with|due|because|to)\b|\s*[:.!]|$)
    | (?:access|permission|authorization|authentication|request)[ ](?:is[ ]|was[ ])?
      (?:denied|required|refused|rejected|forbidden)
    | (?:unauthorized|forbidden)\b\s*(?:[:.!]|$)
    | bad[ ]request | internal[ ]server[ ]error | rate[ ]limit[ ](?:exceeded|reached) | too[ ]many[ ]requests
    | (?:time[d]?[ -]?out)\b\s*(?:[:.!]|after|waiting|exceeded|\d|$)
    | (?:connection|operation|command|path|file|host|url|tool|action|request)[ ](?:is[ ]|was[ ])?
      (?:not[ ](?:allowed|permitted|found|supported)|refused|reset|aborted|blocked|rejected|timed[ ]out)
    | (?:cannot|can't|can[ ]not|could[ ]not|couldn't|unable[ ]to)[ ]\w+
    | invalid[ ](?:[\w\-'"]+[ ]){{0,3}}[\w\-'"]+\s*(?:[:.!,(]|$)
    | (?:missing|unknown|unrecognized|unsupported|unexpected|illegal)[ ](?:required[ ])?(?:[\w\-]+[ ]){{0,2}}
      (?:[\w\-]+\s*[:'"`]|(?:parameter|argument|field|key|property|option|tool|command|token|column|table|value|type|format|character|path|method|resource)s?\b)
    | missing[ ]required\b
    | (?:you[ ])?must[ ](?:provide|specify|be|supply|include|call)\b
    | expected[ ][^\n]{{1,60}}[ ]but[ ](?:found|got|received|was)\b
    | no[ ]such[ ](?:file|table|column|tool|branch|key|user|option|command|host|module|container|resource|element)\b
    | syntax[ ]error\b
    | this[ ]is[ ](?:a[ ]directory|not[ ]a)\b
    | (?:[45]\d\d)[ ]
      (?:bad[ ]request|unauthorized|forbidden|not[ ]found|internal|service|gateway|too[ ]many|conflict|client|server)
    | (?:http|status)(?:[ ](?:error|status|code))*[ :]+[45]\d\d\b
    | (?:process[ ]|command[ ])?exit(?:ed)?(?:[ ]with)?(?:[ ](?:code|status))?:?[ ][1-9]
    | \[(?:[a-z]+_)*(?:not_found|denied|invalid|failed|forbidden|timeout)\]
    | \[?error\]\s[^\n]{{1,200}}$
    | (?:[\w\-'"./:]+[ ]){{0,5}}not[ ]found\b(?:\s*[:,!]|\.(?:\s|$)|\s*$|[ ](?:in|or|for)\b)
    | not[ ](?:connected|logged[ ]in|authenticated|authorized|initialized|allowed|permitted|supported|implemented)\b
    | no[ ](?:\w+[ ]){{1,3}}(?:loaded|selected|connected|initialized|configured)\b
    | access[ ]to[ ][^\n]{{1,80}}[ ](?:denied|forbidden)\b
    | sorry,?[ ](?:but[ ])?(?:i|we)?[ ]?(?:could|can|am|are|was|were)?(?:[ ]?not|n't|[ ]unable)\b
    )
"""
_SHELL = rf"""
    (?:\S+:[ ](?:line[ ])?(?:\d+:[ ])?(?:[^\n]{{0,200}}:[ ])?(?:command[ ])?not[ ]found\s*$)
    | [\w./\-]+:[ ][^\n]{{0,200}}
      (?:no[ ]such[ ]file[ ]or[ ]directory|permission[ ]denied|is[ ]a[ ]directory|not[ ]a[ ]directory
      |connection[ ]refused|operation[ ]not[ ]permitted)
    | (?:fatal|error|[\w./\-]+:[ ](?:fatal[ ])?error|parse[ ]error)[:!][ ]
    | traceback[ ]\(most | npm[ ](?:err!|error) | make:[ ]\*\*\* | curl:[ ]\(\d | {_ERRNO}:
    | [\w.]*[a-z](?:error|exception):[ ]
"""
_CHINESE = r"""
    [\s#*【\[]*(?:执行|调用|操作|请求|系统|服务器?|参数|查询|数据库|网络|连接|权限|工具|读取|写入|解析|认证|登录|校验|验证|内部|上传|下载|创建|更新|删除){0,3}
    (?:错误|失败|异常|出错|报错|超时|被拒绝|不足)(?:[了的]?\s*(?:[:：!！。，,\]】]|$))
    | \s*(?:无法|找不到|未找到|未知的?工具|没有权限|权限不足
      |拒绝访问|访问被拒绝|未授权|无效的?|缺少|不支持的?|请先|不存在的)\S
    | \s*\S{1,24}(?:不存在|未找到|无效|已过期|未登录|未初始化)\s*[。.!！]?\s*$
"""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # For text in lower case: IGNORECASE would make the first use three times as slow.
    return re.compile(pattern, re.VERBOSE)


def opens_plainly(text: str) -> bool:
    """Whether a glance at the first words is enough to say that `text` opens as no error, and is no JSON."""
    return _is_clear(text[:_GLANCE_CHARS].lower())


def quote_opens_plainly(quote: bytes) -> bool:
    """Say of the inside of a JSON string what `opens_plainly` says of the text; False also when it takes decoding."""
    head = str(quote[:_GLANCE_CHARS], "latin-1")
    if "\\" in head:
        # All escapes but one are two bytes for one character, so this holds as much of the text.
        head = str(quote[: 2 * _GLANCE_CHARS], "latin-1")
        if "\\u" in head or "\\" in head.lstrip().partition(" ")[0]:
            return False
    return _is_clear(head.lower())


def _is_clear(lower: str) -> bool:
    return (
        "error" not in lower
        and "fail" not in lower
        and "not found" not in lower
        and "exception" not in lower
        and "output:" not in lower
        and "no such " not in lower
        and lower.isascii()
        and (first := lower[:1]) not in _MARKS
        and ((lower[:2] not in _OPENINGS and first > " ") or not _has_starter(lower))
    )


def _has_starter(lower: str) -> bool:
    return lower.lstrip().partition(" ")[0].rstrip(":.,!\n") in _STARTERS


def starts_as_error(text: str) -> bool:
    """Whether the first words make `text` an error message; a word further inside never does.

    An error behind a banner of a shell tool ("... output:" as a line of its own) counts too.
    """
    if opens_plainly(text):
        return False
    return _opens_as_error(text[:1000])


def _opens_as_error(text: str) -> bool:
    text = text.lstrip("- \t\r\n")
    first = text.partition("\n")[0][:_HEAD_CHARS]
    if text.startswith(("{'error':", "{'success': False", "{'isError': True")):
        return True
    if text[:1] == "\N{CROSS MARK}" and "\N{WHITE HEAVY CHECK MARK}" not in text:
        return True
    lower = first.lower()
    start = _compiled(_START)
    # "### Error" and "**Error**" are headings: what counts is the line together with what follows.
    if start.match(lower) or _compiled(_SHELL).match(lower):
        return True
    if not first.isascii() and _compiled(_CHINESE).match(first):
        return True
    return error_behind_banner(text) is not None


def error_behind_banner(text: str) -> str | None:
    """The first error among the lines after a line that ends with "output:"; shell tools answer so."""
    lines = text[:_BANNER_CHARS].split("\n", _BANNER_LINES + _OUTPUT_LINES)
    for number, line in enumerate(lines[:_BANNER_LINES]):
        if line.rstrip().lower().endswith(_BANNERS):
            shell = _compiled(_SHELL)
            shown = lines[number + 1 : number + 1 + _OUTPUT_LINES]
            return next((later for later in shown if later.strip() and shell.match(later.lower())), None)
    return None
