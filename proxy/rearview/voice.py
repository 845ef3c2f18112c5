"""Puts lessons into words at the moment of speaking; the words themselves are `rearview.learn.words`."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rearview.core.calls import Spoken, ToolFacts
from rearview.log import report
from rearview_interceptors.api import Call, Lesson


class SpokenWords:
    """The voice of one relay. Whatever goes wrong in it, nothing is said and the message goes on."""

    def __init__(self, tools: Mapping[str, ToolFacts], bases: Sequence[str], locale: str) -> None:
        self._tools = tools
        self._bases = tuple(bases)
        self._locale = os.environ.get("LC_ALL") or os.environ.get("LANG") or "en" if locale == "auto" else locale

    def held(self, lesson: Lesson, call: Call) -> Spoken | None:
        """Return what to say instead of making the call."""
        return self._say("held_text", lesson, call)

    def hint(self, lesson: Lesson, call: Call) -> Spoken | None:
        """Return what to say beside the failure."""
        return self._say("hint_text", lesson, call)

    def _say(self, form: str, lesson: Lesson, call: Call) -> Spoken | None:
        # Imported when there is something to say, which is seldom: it would make every start slower.
        from rearview.learn import words

        facts = self._tools.get(call.tool)
        view = words.ToolView(facts.schema if facts else None, self._bases)
        try:
            text = getattr(words, form)(lesson, call, view, time.time(), self._locale)
        except Exception as error:  # noqa: BLE001 - speaking is an interceptor's work; it may not break the call
            report("voice.failed", {"lesson": lesson.id, "error": type(error).__name__})
            return None
        return Spoken(text, facts_of(lesson)) if text else None


def facts_of(lesson: Lesson) -> dict[str, Any]:
    """Return the content of a lesson for machines, as it stands under our `_meta` key."""
    return {
        "id": lesson.id,
        "condition": lesson.condition,
        "field": lesson.field,
        "kind": lesson.kind,
        "failed": lesson.failed,
        "met": lesson.met,
        "score": round(lesson.score, 3),
        "fixes": [{"action": fix.action, "field": fix.field, "to": fix.to} for fix in lesson.fixes],
    }
