"""Texts that say that the user did not let a call run, which tells nothing about the call."""

# ruff: noqa: RUF001 (Chinese punctuation is meant)

from rearview.learn.lazy import Lazy

_HEAD_CHARS = 200
_DONE = (
    r"(?:rejected|rejects|declined|declines|cancell?ed|cancels|denied|denies|refused|refuses|aborted|aborts|dismissed"
    r"|disapproved|interrupted)\b"
)
_REFUSED = Lazy(
    rf"(?:[^\w\n]|error:|failed:)*(?:the )?user (?:has |have |explicitly )*(?:{_DONE}"
    r"|(?:did not|didn't|does not|doesn't|chose not to) (?:approve|accept|confirm|allow|permit|want|consent))"
    r"(?! (?:order|account|subscription|booking|payment))"
    r"|(?:[^\w\n]|error:|failed:)*(?:(?:the|this|your) )?"
    r"(?:(?:tool|function|mcp) )?(?:(?:use|call|action|operation|request|execution|command|permission|confirmation"
    r"|elicitation|approval|edit|change|input)s? )?(?:(?:was|were|is|has been|have been) )?"
    rf"{_DONE} by (?:the )?(?:user|human|operator)\b(?! (?:policy|policies|settings?|group|role))"
    r"|[^\w\n]*(?:错误[:：]\s*)?(?:该|此)?(?:操作|调用|请求|工具调用|执行)?"
    r"(?:已?被用户|用户(?:已经?)?)(?:拒绝|取消|中止|终止|否决|驳回|不同意)",
)


def refused_by_user(message: str) -> bool:
    """Whether a message opens by saying that the user refused, cancelled or did not confirm the call."""
    return _REFUSED.pattern.match(message[:_HEAD_CHARS].lower()) is not None
