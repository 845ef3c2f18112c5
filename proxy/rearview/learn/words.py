"""The words of a lesson: one calm paragraph, made from typed fields and the agent's own call, in English or Chinese."""

from types import ModuleType
from typing import Any

from rearview.learn import words_en, words_zh
from rearview.learn.forms import form_in_words
from rearview.learn.outside import OUTSIDE
from rearview.learn.remedies import Remedy, ToolView, remedies_of
from rearview.learn.speakable import class_at, shown_field, values_at
from rearview_interceptors.api import Call, Condition, Kind, Lesson

__all__ = ["ToolView", "held_text", "hint_text"]

ENGLISH_LIMIT_WORDS = 60
CHINESE_LIMIT_CHARS = 160
"""Counted without what stands in backticks."""

_DAY_SECONDS = 86400.0
_DAYS_IN_A_FORTNIGHT = 14
_DAYS_IN_TWO_MONTHS = 61
_TEXT_CLASSES = frozenset({"text", "words", "json", "emptydict", "emptylist"})
_PATH_CLASSES = frozenset({"abspath", "relpath", "uppath", "homepath"})
_SESSION = frozenset({Condition.SESSION_EXACT, Condition.SESSION_GROUNDED, Condition.SESSION_LOOP})


def held_text(lesson: Lesson, call: Call, view: ToolView, now: float, locale: str = "en") -> str:
    """What a held call is answered with: what failed and that nothing ran, why, what to do, how to run it anyway.

    One paragraph, at most 60 English words or 160 Chinese characters. Holds no text of the server, and of the call
    only field names and values of a closed class. `now` is Unix time; a locale other than `zh*` is English.
    """
    return _paragraph(_words_of(locale), lesson, call, view, now, held=True)


def hint_text(lesson: Lesson, call: Call, view: ToolView, now: float, locale: str = "en") -> str:
    """What is added to a failed reply: what is known and what to do next. Same limits as `held_text`."""
    return _paragraph(_words_of(locale), lesson, call, view, now, held=False)


def _words_of(locale: str) -> ModuleType:
    return words_zh if locale.lower().startswith("zh") else words_en


def _paragraph(words: ModuleType, lesson: Lesson, call: Call, view: ToolView, now: float, *, held: bool) -> str:
    fact = (words.HELD if held else words.NOTE).format(fact=_fact(words, lesson, now))
    why = _why(words, lesson, call, view)
    remedies = _remedies(words, lesson, call, view)
    last = [words.REPEAT] if held else []
    text = ""
    # The whole first, then without what is least needed, until it is short enough.
    for parts in ([fact, why, *remedies], [fact, why, *remedies[:1]], [fact, *remedies[:1]], [fact]):
        text = words.AND.join([*parts, *last])
        if _is_short(text, words):
            break
    return text


def _is_short(text: str, words: ModuleType) -> bool:
    if words is words_en:
        return len(text.split()) <= ENGLISH_LIMIT_WORDS
    return len("".join(text.split("`")[::2])) <= CHINESE_LIMIT_CHARS


def _fact(words: ModuleType, lesson: Lesson, now: float) -> str:
    key = "exact" if lesson.condition is Condition.EXACT else "runs"
    if lesson.condition in _SESSION:
        key = str(lesson.condition)
    elif lesson.met <= 0:
        key = "schema" if lesson.condition is Condition.SCHEMA else "runs"
    fact: str = words.FACTS[key].format(failed=lesson.failed, met=lesson.met, when=_when(words, lesson.last_seen, now))
    return fact


def _when(words: ModuleType, last_seen: float, now: float) -> str:
    days = int(now // _DAY_SECONDS) - int(last_seen // _DAY_SECONDS)
    if last_seen <= 0 or days < 0:
        key = ""
    elif days <= 1:
        key = ("today", "yesterday")[days]
    elif days < _DAYS_IN_A_FORTNIGHT:
        key = "days"
    else:
        key = "weeks" if days < _DAYS_IN_TWO_MONTHS else "months"
    when: str = words.WHEN[key].format(n=days // 7 if key == "weeks" else days)
    return when


def _why(words: ModuleType, lesson: Lesson, call: Call, view: ToolView) -> str:
    field = shown_field(lesson.field, call.arguments, view.schema)
    if field is None:
        return _said(words.WHY, str(lesson.kind))
    if not values_at(call.arguments, field):
        lacking = lesson.kind in (Kind.ARGUMENT, Kind.OTHER)
        return _said(words.WHY, "missing" if lacking else str(lesson.kind), field=field)
    form = class_at(call.arguments, field)
    suffix = ":text" if form in _TEXT_CLASSES else ":field"
    told = form_in_words(form, words.FORMS)
    if f"{lesson.kind}{suffix}" not in words.WHY or (suffix == ":field" and told is None):
        return _said(words.WHY, str(lesson.kind))
    return _said(words.WHY, f"{lesson.kind}{suffix}", field=field, form=told or "")


def _remedies(words: ModuleType, lesson: Lesson, call: Call, view: ToolView) -> list[str]:
    told: list[str] = []
    for remedy in remedies_of(lesson, call, view):
        # That it was seen in one run only is said once, before the first.
        if text := _remedy(words, remedy._replace(once=remedy.once and not told)):
            told.append(text)
    return told or [_advice(words, lesson, call, view)]


def _remedy(words: ModuleType, remedy: Remedy) -> str:
    form = form_in_words(remedy.form, words.FORMS) if remedy.form else None
    if remedy.says == "as_form" and form is None:
        return ""
    key = "add:form" if remedy.says == "add" and form else remedy.says
    text = _said(words.REMEDY, key, field=remedy.field, to=remedy.to, form=form or "")
    return words.ONCE.format(remedy=text[:1].lower() + text[1:] if words is words_en else text) if remedy.once else text


def _advice(words: ModuleType, lesson: Lesson, call: Call, view: ToolView) -> str:
    kind = str(Kind.FORBIDDEN if OUTSIDE in lesson.key else lesson.kind)
    field = shown_field(lesson.field, call.arguments, view.schema)
    form = class_at(call.arguments, field) if field else ""
    suffixes = [":path"] if form in _PATH_CLASSES else [":text"] if form in _TEXT_CLASSES else []
    for suffix in (*suffixes, ":field"):
        if field and form and kind + suffix in words.ADVICE:
            return _said(words.ADVICE, kind + suffix, field=field)
    return _said(words.ADVICE, kind)


def _said(table: dict[str, str], key: str, **parts: Any) -> str:
    return table[key].format(**parts)
