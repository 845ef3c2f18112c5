"""`mcp-rearview lessons`: shows what is known to fail, and lets the user decide about it."""

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rearview.cli.context import Context
from rearview.cli.lesson_deciding import Action, decide, find
from rearview.cli.lesson_files import export_to, exported_in
from rearview.cli.lesson_list import Filter, as_data, call_of, calls_behind, print_list
from rearview.cli.lesson_words import KINDS, condition_words, fix_words, form_words, voice
from rearview.cli.memory import opened_ledger
from rearview.cli.options import add_shared, refuse
from rearview.cli.render import Output, clock, counted

if TYPE_CHECKING:
    from rearview.store.ledger_lessons import LessonView

SUMMARY = "list, show, mute, forget, export or import what was learned"
EXAMPLES = """\
  mcp-rearview lessons                     the list, what failed most often first
  mcp-rearview lessons show ID             one lesson with its evidence; the first letters of an ID will do
  mcp-rearview lessons mute ID             never speak of it; `unmute ID` undoes it
  mcp-rearview lessons forget ID           delete it with its evidence; only new failures can bring it back
  mcp-rearview lessons list --all          with those about one call as a whole, arguments and all
  mcp-rearview lessons export team.json    write them to a file; `-` is standard output
  mcp-rearview lessons import team.json    add those of a file that are missing here; `-` is standard input
"""


def fill(parser: argparse.ArgumentParser) -> None:
    """The actions; none is `list`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions")
    listing = actions.add_parser("list", help="what is known to fail, what failed most often first")
    _add_filters(parser)
    _add_filters(listing)
    for name, text in (
        ("show", "one lesson with its evidence, and what it has been good for"),
        ("mute", "never speak of it; it goes on learning"),
        ("unmute", "let a muted lesson speak again"),
        ("forget", "delete it with its evidence"),
    ):
        actions.add_parser(name, help=text).add_argument("id", metavar="ID", help="the lesson, or its first letters")
    for name, text in (("export", "write lessons to a file"), ("import", "add the lessons of a file")):
        actions.add_parser(name, help=text).add_argument("file", metavar="FILE", help="a JSON file, or -")
    _add_all(actions.choices["export"], "also those about one call as a whole, which only this folder can recognise")
    actions.choices["export"].add_argument("--force", action="store_true", help="replace a file that is there already")
    for action in actions.choices.values():
        add_shared(action)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    """Add what `list` takes; it may stand before the action, since `list` may be left out."""
    parser.add_argument("--server", metavar="NAME", default=argparse.SUPPRESS, help="only of this server")
    _add_all(parser, "also those about one call as a whole, arguments and all")


def _add_all(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--all", action="store_true", default=argparse.SUPPRESS, help=text)


def _check_options(options: argparse.Namespace) -> None:
    """Refuse an option in front of an action that has no use for it."""
    for name, actions in (("server", (None, "list")), ("all", (None, "list", "export"))):
        if name in options and options.action not in actions:
            refuse(f"--{name} is nothing for `lessons {options.action}`: leave it out")


def run(context: Context, options: argparse.Namespace) -> int:
    """Do what the action says."""
    from rearview.store.ledger import publish  # SQLAlchemy takes a third of a second

    _check_options(options)
    owner, exact = context.config.owner, "all" in options
    with opened_ledger(context) as (state, ledger):
        match options.action:
            case None | "list":
                print_list(context.output, ledger, owner, Filter(getattr(options, "server", None), exact))
            case "show":
                view = find(ledger, owner, options.id)
                _show(context.output, view, call_of(view, calls_behind(ledger, owner, [view])))
            case "export":
                export_to(context.output, ledger.export_lessons(owner, exact=exact), options.file, force=options.force)
            case "import":
                new = ledger.import_lessons(owner, exported_in(options.file))
                publish(ledger, state)
                context.output.done({"imported": new}, f"{counted(new, 'new lesson')} imported.")
            case action:
                decided = decide(ledger, owner, Action(action), options.id)
                publish(ledger, state)
                context.output.done(decided.data(), decided.words())
    return 0


def _show(output: Output, view: "LessonView", call: str) -> None:
    lesson, scoped = view.scoped.lesson, view.scoped
    if output.as_json:
        output.data({**as_data(view, call), "evidence": view.evidence, "effects": view.effects})
        return
    rows = [
        ("id", lesson.id),
        ("tool", f"{scoped.tool} of {scoped.server}{f' in {scoped.env}' if scoped.env else ''}"),
        ("what fails", condition_words(lesson, call)),
        ("key", lesson.key),
        ("kind", f"{lesson.kind.value}: {KINDS[lesson.kind]}"),
        (
            "failed",
            f"in {lesson.failed} of {counted(lesson.met, 'task')} with such a call, last {clock(lesson.last_seen)}",
        ),
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
    times, changed = counted(numbers["said"], "time"), counted(numbers["changed"], "call")
    return f"{times}, {changed} changed, {numbers['succeeded']} then worked"
