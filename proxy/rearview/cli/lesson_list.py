"""The list of lessons: patterns first, and single calls that failed only for those who ask for them."""

import json
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rearview.cli.lesson_words import KINDS, condition_words, voice
from rearview.cli.render import Output, one_line, when
from rearview_interceptors.api import Condition

if TYPE_CHECKING:
    from rearview.store.ledger import Ledger
    from rearview.store.ledger_lessons import LessonView

COLUMNS = ("id", "failed", "last", "does", "tool and what fails")
SHORT_ID_CHARS = 8
CALL_CHARS = 200


class Filter(NamedTuple):
    """What to list: of one server, and whether also the lessons that are about one call as a whole."""

    server: str | None
    exact: bool


def print_list(output: Output, ledger: "Ledger", owner: str, wanted: Filter) -> None:
    """Print the lessons, what failed most often first. JSON has the exact ones in any case: programs can choose."""
    views = ledger.lessons(owner)
    chosen = [view for view in views if wanted.server is None or view.scoped.server == wanted.server]
    # What failed in many tasks says more to a person than the one call that is sure to fail again.
    chosen.sort(key=lambda view: -view.scoped.lesson.failed)
    if output.as_json:
        calls = calls_behind(ledger, owner, chosen)
        output.data([as_data(view, call_of(view, calls)) for view in chosen])
        return
    shown = [view for view in chosen if wanted.exact or not is_exact(view)]
    if shown:
        now, calls = time.time(), calls_behind(ledger, owner, shown)
        output.table(COLUMNS, [_row(view, call_of(view, calls), now) for view in shown])
    elif not views:
        output.line("No lessons yet. They come when tasks are over in which calls failed.")
    elif not chosen:
        servers = ", ".join(sorted({view.scoped.server for view in views}))
        output.line(f"No lesson fits --server {wanted.server}. There are lessons of: {servers}.")
    if hidden := len(chosen) - len(shown):
        are = "1 lesson is" if hidden == 1 else f"{hidden} lessons are"
        output.line(f"{are} about the very same call, arguments and all: `mcp-rearview lessons list --all`.")


def is_exact(view: "LessonView") -> bool:
    """Whether a lesson is about one call as a whole."""
    return view.scoped.lesson.condition is Condition.EXACT


def calls_behind(ledger: "Ledger", owner: str, views: Iterable["LessonView"]) -> Mapping[str, str]:
    """Return by digest the arguments of the calls that exact lessons are about, as far as they are still kept."""
    return ledger.arguments_of(owner, [_digest(view) for view in views if is_exact(view)])


def call_of(view: "LessonView", calls: Mapping[str, str]) -> str:
    """Return the arguments, as JSON, of the call that an exact lesson is about; empty where nobody knows."""
    return calls.get(_digest(view), "") if is_exact(view) else ""


def as_data(view: "LessonView", call: str) -> dict[str, Any]:
    """Return a lesson as plain JSON; `call` is what `call_of` says."""
    lesson = view.scoped.lesson
    return {
        "id": lesson.id, "server": view.scoped.server, "tool": view.scoped.tool, "environment": view.scoped.env,
        "condition": lesson.condition.value, "key": lesson.key, "field": lesson.field, "kind": lesson.kind.value,
        "failed": lesson.failed, "met": lesson.met, "score": lesson.score, "loud": lesson.loud,
        "last_seen": lesson.last_seen, "good_form": lesson.good_form, "state": view.state, "origin": view.origin,
        "fixes": [
            {"action": fix.action, "field": fix.field, "to": fix.to, "trajectories": fix.trajectories}
            for fix in lesson.fixes
        ],
        "arguments": json.loads(call) if call else None,
    }  # fmt: skip


def _row(view: "LessonView", call: str, now: float) -> tuple[object, ...]:
    lesson, scoped = view.scoped.lesson, view.scoped
    words = condition_words(lesson, one_line(call, CALL_CHARS))
    what = f"{scoped.tool} of {scoped.server}: {words} ({KINDS[lesson.kind]})"
    counts = f"{lesson.failed} of {lesson.met}"
    return lesson.id[:SHORT_ID_CHARS], counts, when(lesson.last_seen, now), voice(view), what


def _digest(view: "LessonView") -> str:
    return view.scoped.lesson.key.partition(":")[2]
