"""`mcp-rearview lessons`: shows what is known to fail, and lets the user decide about it."""

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rearview.cli.context import Context
from rearview.cli.lesson_words import KINDS, condition_words, fix_words, form_words, voice
from rearview.cli.memory import opened_ledger
from rearview.cli.options import add_shared
from rearview.cli.render import Output, clock, when
from rearview.errors import StoreError

if TYPE_CHECKING:
    from rearview.store.ledger import Ledger
    from rearview.store.ledger_lessons import LessonView
    from rearview.store.state import StateFolder

SUMMARY = "list, show, mute, forget, export or import what was learned"
EXAMPLES = """\
  mcp-rearview lessons                     the list, what failed most often first
  mcp-rearview lessons show ID             one lesson with its evidence; the first letters of an ID will do
  mcp-rearview lessons mute ID             never speak of it; `unmute ID` undoes it
  mcp-rearview lessons forget ID           delete it with its evidence; only new failures can bring it back
  mcp-rearview lessons export team.json    write all of them to a file; `-` is standard output
  mcp-rearview lessons import team.json    add those of a file that are missing here; `-` is standard input
"""

IMPORT_LIMIT_BYTES = 64 * 1024 * 1024
COLUMNS = ("id", "failed", "last", "does", "tool and what fails")
SHORT_ID_CHARS = 8


def fill(parser: argparse.ArgumentParser) -> None:
    """The actions; none is `list`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions")
    listing = actions.add_parser("list", help="what is known to fail, what failed most often first")
    listing.add_argument("--server", metavar="NAME", help="only of this server")
    for name, text in (
        ("show", "one lesson with its evidence, and what it has been good for"),
        ("mute", "never speak of it; it goes on learning"),
        ("unmute", "let a muted lesson speak again"),
        ("forget", "delete it with its evidence"),
    ):
        actions.add_parser(name, help=text).add_argument("id", metavar="ID", help="the lesson, or its first letters")
    for name, text in (("export", "write all lessons to a file"), ("import", "add the lessons of a file")):
        actions.add_parser(name, help=text).add_argument("file", metavar="FILE", help="a JSON file, or -")
    for action in actions.choices.values():
        add_shared(action)


def run(context: Context, options: argparse.Namespace) -> int:
    """Do what the action says."""
    owner = context.config.owner
    with opened_ledger(context) as (state, ledger):
        match options.action:
            case None | "list":
                _list(context.output, ledger.lessons(owner), getattr(options, "server", None))
            case "show":
                _show(context.output, _find(ledger, owner, options.id))
            case "export":
                _export(context.output, ledger.export_lessons(owner), options.file)
            case "import":
                new = ledger.import_lessons(owner, _read(options.file))
                _published(ledger, state)
                _done(context.output, {"imported": new}, f"{new} lessons are new here.")
            case action:
                _decide(context.output, ledger, state, owner, action, options.id)
    return 0


def as_data(view: "LessonView") -> dict[str, Any]:
    """Return a lesson as plain JSON."""
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
    }  # fmt: skip


def _list(output: Output, views: list["LessonView"], server: str | None) -> None:
    chosen = [view for view in views if server is None or view.scoped.server == server]
    # What failed in many tasks says more to a person than the one call that is sure to fail again.
    chosen.sort(key=lambda view: -view.scoped.lesson.failed)
    if output.as_json:
        output.data([as_data(view) for view in chosen])
    elif chosen:
        now = time.time()
        output.table(COLUMNS, [_row(view, now) for view in chosen])
    else:
        output.line("No lessons yet. They come when tasks are over in which calls failed.")


def _row(view: "LessonView", now: float) -> tuple[object, ...]:
    lesson, scoped = view.scoped.lesson, view.scoped
    what = f"{scoped.tool} of {scoped.server}: {condition_words(lesson)} ({KINDS[lesson.kind]})"
    counts = f"{lesson.failed} of {lesson.met}"
    return lesson.id[:SHORT_ID_CHARS], counts, when(lesson.last_seen, now), voice(view), what


def _show(output: Output, view: "LessonView") -> None:
    lesson, scoped = view.scoped.lesson, view.scoped
    if output.as_json:
        output.data({**as_data(view), "evidence": view.evidence, "effects": view.effects})
        return
    rows = [
        ("id", lesson.id),
        ("tool", f"{scoped.tool} of {scoped.server}{f' in {scoped.env}' if scoped.env else ''}"),
        ("what fails", condition_words(lesson)),
        ("key", lesson.key),
        ("kind", f"{lesson.kind.value}: {KINDS[lesson.kind]}"),
        ("failed", f"in {lesson.failed} of the {lesson.met} tasks that met it, last {clock(lesson.last_seen)}"),
        ("score", f"{lesson.score:.2f}, the measured chance that it is right"),
        ("voice", voice(view)),
        *(("remedy", fix_words(fix)) for fix in lesson.fixes),
        *([("good form", form_words(lesson.good_form))] if lesson.good_form else []),
        ("born", f"{clock(view.born_at)}{f', {view.origin}' if view.origin else ''}"),
        *(("evidence", f"{name}: {json.dumps(value)}") for name, value in view.evidence.items()),
        *(("effect", f"{channel}: {_effect(numbers)}") for channel, numbers in view.effects.items()),
    ]
    output.table(("", "lesson"), rows)


def _effect(numbers: Mapping[str, int]) -> str:
    return f"{numbers['said']} times, {numbers['changed']} calls changed, {numbers['succeeded']} then worked"


def _find(ledger: "Ledger", owner: str, text: str) -> "LessonView":
    exact = ledger.lesson(owner, text)
    if exact is not None:
        return exact
    near = [view for view in ledger.lessons(owner) if view.scoped.lesson.id.startswith(text)]
    if len(near) != 1:
        what = "fits more than one lesson" if near else "is no lesson"
        _refuse(f"{text!r} {what}: `mcp-rearview lessons` lists their ids")
    return near[0]


def _decide(output: Output, ledger: "Ledger", state: "StateFolder", owner: str, action: str, text: str) -> None:
    lesson = _find(ledger, owner, text).scoped.lesson.id
    decide, word = {
        "mute": (ledger.mute, "muted"),
        "unmute": (ledger.unmute, "free to speak"),
        "forget": (ledger.forget, "forgotten"),
    }[action]
    decide(owner, lesson)
    _published(ledger, state)
    _done(output, {"id": lesson, "action": action}, f"{lesson} is {word}. Relays know within a second.")


def _published(ledger: "Ledger", state: "StateFolder") -> None:
    from rearview.store.ledger import publish

    publish(ledger, state)


def _export(output: Output, exported: dict[str, Any], file: str) -> None:
    if file == "-":
        output.data(exported)
        return
    try:
        Path(file).write_text(json.dumps(exported, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        _refuse(f"{file}: can't be written ({error.strerror}): name another file")
    number = len(exported["lessons"])
    _done(output, {"exported": number, "file": file}, f"{number} lessons are in {file}.")


def _read(file: str) -> dict[str, Any]:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(IMPORT_LIMIT_BYTES + 1)
        else:
            with Path(file).open("rb") as source:
                data = source.read(IMPORT_LIMIT_BYTES + 1)
        if len(data) > IMPORT_LIMIT_BYTES:
            _refuse(f"{file}: is over {IMPORT_LIMIT_BYTES // 2**20} MiB: that is no export of lessons")
        exported = json.loads(data)
    except OSError as error:
        _refuse(f"{file}: can't be read ({error.strerror}): name another file")
    except (ValueError, RecursionError):
        _refuse(f"{file}: is not JSON: name a file that `mcp-rearview lessons export` wrote")
    if not isinstance(exported, dict):
        _refuse(f"{file}: is no export of lessons: name a file that `mcp-rearview lessons export` wrote")
    return exported


def _done(output: Output, facts: Mapping[str, Any], words: str) -> None:
    if output.as_json:
        output.data(facts)
    else:
        output.line(words)


def _refuse(message: str) -> NoReturn:
    raise StoreError(message)
