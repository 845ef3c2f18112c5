"""The public face for people who write interceptors."""

from rearview_interceptors.api import (
    Call,
    Condition,
    Fix,
    Grade,
    Hint,
    Hold,
    Interceptor,
    Kind,
    Lesson,
    Reply,
    Said,
)

__all__ = ["Call", "Condition", "Fix", "Grade", "Hint", "Hold", "Interceptor", "Kind", "Lesson", "Reply", "Said"]
