"""Which conditions have become lessons, how loud they may be, and which of them say the same thing twice."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rearview.learn.conditions import Parsed, parse
from rearview.learn.counts import Evidence, Row, lesson_id
from rearview.learn.kinds import OUTSIDE_DECIDES
from rearview.learn.model import ScopedLesson
from rearview.learn.outside import is_outside, roots_of
from rearview.learn.reliability import JSON_TYPES, SILENCED_AFTER, Table, base_rate, cell_of, type_of
from rearview_interceptors.api import Condition, Fix, Kind, Lesson

MIN_SCORE = 0.75
MIN_TOOL_FAILURES = 5
MIN_CONTRAST = 3
MAX_LESSONS = 50_000
MAX_FIXES = 3
DOMINANT_SHARE = 0.7
MIN_GOOD_FORM = 2
MIN_REPEATS = 2

NEVER_LOUD = frozenset({Kind.TRANSIENT, Kind.RATE_LIMITED, Kind.ENVIRONMENT, Kind.EMPTY})
_FROM_ONE = frozenset(
    {Condition.EXACT, Condition.VALUE, Condition.NAME, Condition.LACK, Condition.KEY, Condition.SCHEMA}
)
_FOLDER = "abspath^"
_FORMS = frozenset({Condition.SHAPE, Condition.CLASS, Condition.PATTERN})
_SURE_TYPES = frozenset({"exact", "value", "name", "lack", "key+", "schema", "class+", "pattern+", "class^+"})
_SHAPELY = _SURE_TYPES - {"exact", "value", "name"}


@dataclass(frozen=True, slots=True)
class Options:
    """What decides about lessons besides the evidence."""

    now: float
    hold_min_trajectories: int = 2
    half_life_days: float = 30.0
    muted: frozenset[str] = field(default_factory=frozenset)
    limit: int = MAX_LESSONS


Fixes = Mapping[tuple[str, str, str, str], tuple[Fix, ...]]
"""Known fixes by owner, server, tool and condition key, best first."""


def lessons_of(rows: Iterable[Row], fixes: Fixes, table: Table, options: Options) -> list[ScopedLesson]:
    """Return the lessons that evidence carries, those met last first; at most `options.limit` for each owner.

    `rows` must hold all rows of every tool that has any: forms are judged in contrast to their neighbours.
    """
    tools: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        tools.setdefault((row.owner, row.server, row.tool), []).append(row)
    found = [lesson for each in tools.values() for lesson in _of_tool(each, fixes, table, options)]
    found.sort(key=lambda scoped: (-scoped.lesson.last_seen, scoped.lesson.id))
    counts: dict[str, int] = {}
    kept = []
    for scoped in found:
        counts[scoped.owner] = counts.get(scoped.owner, 0) + 1
        if counts[scoped.owner] <= options.limit:
            kept.append(scoped)
    return kept


class _Tool:
    """All that is known of one tool."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.whole = next((row.evidence for row in rows if row.key == "tool:"), None)
        self.base = base_rate(self.whole)
        self.version = max(((row.evidence.last_seen, row.evidence.version) for row in rows), default=(0.0, ""))[1]
        self.good_forms: dict[tuple[Condition, str], dict[str, int]] = {}
        self.good_folders: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            parsed = parse(row.key)
            if parsed and row.evidence.good and parsed.condition in {Condition.CLASS, Condition.PATTERN}:
                path, form = parsed.parts[0]
                if form.startswith(_FOLDER):
                    self.good_folders.setdefault((row.env, path), []).append(form.removeprefix(_FOLDER))
                elif "^" not in form:
                    self.good_forms.setdefault((parsed.condition, path), {})[form] = row.evidence.good

    @property
    def good(self) -> int:
        return self.whole.good if self.whole else 0

    def good_elsewhere(self, parsed: Parsed) -> int:
        """Good trajectories in which the same argument had another form."""
        path, form = parsed.parts[0]
        condition = Condition.PATTERN if parsed.condition is Condition.PATTERN else Condition.CLASS
        if form in JSON_TYPES or "^" in form:
            return self.good
        return max((n for other, n in self.good_forms.get((condition, path), {}).items() if other != form), default=0)

    def good_outside(self, row: Row, parsed: Parsed) -> bool:
        """Whether a call worked outside of the folders of a border, also before anyone knew of it."""
        path, name = parsed.parts[0]
        roots = roots_of(name)
        folders = self.good_folders.get((row.env, path), ()) if roots else ()
        return any(is_outside(folder, roots) and not _holds_one_of(folder, roots) for folder in folders)

    def good_form(self, path: str, failing: str) -> str:
        """The pattern, else the class, that clearly most good calls have at a path; empty if none has."""
        for condition in (Condition.PATTERN, Condition.CLASS):
            forms = {form: n for form, n in self.good_forms.get((condition, path), {}).items() if form != failing}
            if condition is Condition.PATTERN:
                forms = {form: n for form, n in forms.items() if "#" in form and not form.startswith("@")}
            best = max(forms.items(), key=lambda item: (item[1], item[0]), default=("", 0))
            of_class = sum(self.good_forms.get((Condition.CLASS, path), {}).values())
            if best[1] >= MIN_GOOD_FORM and best[1] >= DOMINANT_SHARE * of_class:
                return best[0]
        return ""


def _holds_one_of(folder: str, roots: tuple[str, ...]) -> bool:
    return any(root.startswith(folder + "/") for root in roots)


def _of_tool(rows: list[Row], fixes: Fixes, table: Table, options: Options) -> Iterator[ScopedLesson]:
    tool = _Tool(rows)
    found = []
    for row in rows:
        if row.evidence.failed:
            lesson = _lesson_of(row, tool, fixes, table, options)
            if lesson is not None and lesson.id not in options.muted:
                found.append((row, lesson))
    yield from (
        ScopedLesson(row.owner, row.server, row.tool, lesson, row.env) for row, lesson in _without_redundant(found)
    )


def _lesson_of(row: Row, tool: _Tool, fixes: Fixes, table: Table, options: Options) -> Lesson | None:
    parsed = parse(row.key)
    evidence = row.evidence
    if parsed is None or evidence.since >= _silenced_after(row) or not _plausible(row, parsed, tool):
        return None
    score = table.score(cell_of(row.key, evidence, tool.base, options.now, options.half_life_days))
    if evidence.version != tool.version:
        # Another version of the server may have mended it.
        score *= 0.9
    loud = _loud(parsed, evidence, options) and score >= MIN_SCORE
    if score < MIN_SCORE or not (loud or parsed.condition in _FROM_ONE or evidence.failed > 1):
        return None
    path = evidence.field or (parsed.parts[0][0] if parsed.parts else "")
    return Lesson(
        id=lesson_id(row.owner, row.server, row.tool, row.key, row.env),
        condition=parsed.condition,
        key=row.key,
        field=path,
        kind=evidence.kind,
        failed=evidence.failed,
        met=evidence.failed + evidence.good,
        last_seen=evidence.last_seen,
        score=round(score, 4),
        loud=loud,
        fixes=fixes.get((row.owner, row.server, row.tool, row.key), ())[:MAX_FIXES],
        good_form=tool.good_form(path, parsed.parts[0][1]) if path and parsed.condition is not Condition.LACK else "",
    )


def _silenced_after(row: Row) -> int:
    # Whether a form of a key is taken is no matter of chance: once it was, it is.
    return 1 if type_of(row.key, row.evidence) in {"schema", "key+"} else SILENCED_AFTER


def _loud(parsed: Parsed, evidence: Evidence, options: Options) -> bool:
    if evidence.kind in NEVER_LOUD:
        return False
    if parsed.condition in _FORMS and evidence.good:
        # A form that has worked is not what is wrong with a call.
        return False
    if parsed.condition is Condition.LACK and evidence.named * 2 <= evidence.failed:
        return False
    if evidence.failed >= options.hold_min_trajectories:
        return True
    if parsed.condition is not Condition.EXACT or evidence.since or evidence.kind is Kind.PRECONDITION:
        # What has to come first may have come first this time, with the very same arguments.
        return False
    return evidence.failed >= (MIN_REPEATS if evidence.kind in OUTSIDE_DECIDES else 1)


def _plausible(row: Row, parsed: Parsed, tool: _Tool) -> bool:
    """Whether a condition can be the cause at all, and not merely what all calls of a hardly known tool look like."""
    evidence = row.evidence
    kind = type_of(row.key, evidence)
    if evidence.kind is Kind.EMPTY and parsed.condition is not Condition.EXACT:
        return False
    if parsed.condition is Condition.TOOL:
        few = 2 if evidence.kind is Kind.UNKNOWN_TOOL else MIN_TOOL_FAILURES
        return evidence.good == 0 and evidence.failed >= few
    if kind.startswith("class^"):
        good = evidence.good or tool.good_outside(row, parsed)
        return kind == "class^+" and not good and len(evidence.marks) > 1
    if kind in _SURE_TYPES:
        return parsed.condition not in {Condition.CLASS, Condition.PATTERN} or len(evidence.marks) > 1
    if parsed.condition is Condition.SHAPE:
        return tool.good >= MIN_CONTRAST and len(evidence.marks) > 1
    return tool.good_elsewhere(parsed) >= MIN_CONTRAST and len(evidence.marks) > 1


def _without_redundant(found: list[tuple[Row, Lesson]]) -> list[tuple[Row, Lesson]]:
    """Leave out what another lesson of the tool says more to the point, on no less evidence."""
    better: dict[tuple[str, str], list[Lesson]] = {}
    kinds = [type_of(row.key, row.evidence) for row, _ in found]
    for kind, (row, lesson) in zip(kinds, found, strict=True):
        if kind.startswith("class^"):
            better.setdefault((f"folder {row.env}", lesson.field), []).append(lesson)
        elif kind == "value":
            better.setdefault(("value", lesson.field), []).append(lesson)
        elif kind in _SHAPELY:
            better.setdefault(("shape", ""), []).append(lesson)
    return [pair for kind, pair in zip(kinds, found, strict=True) if not _said_better(kind, *pair, better)]


def _said_better(kind: str, row: Row, lesson: Lesson, better: Mapping[tuple[str, str], list[Lesson]]) -> bool:
    others: list[Lesson] = []
    if kind.startswith("class^"):
        # The widest folder that has always failed says it for all folders in it, and a border for all beyond it.
        name = lesson.key.partition("=")[2]
        others = [
            each
            for each in better[f"folder {row.env}", lesson.field]
            if lesson.key.startswith(each.key + "/") or is_outside(name.removeprefix(_FOLDER), _roots(each))
        ]
    elif lesson.condition is Condition.PATTERN and "#" not in lesson.key:
        others = better.get(("value", lesson.field), [])
    elif kind == "shape":
        others = better.get(("shape", ""), [])
    return any(other.failed >= lesson.failed and other.loud >= lesson.loud for other in others)


def _roots(lesson: Lesson) -> tuple[str, ...]:
    return roots_of(lesson.key.partition("=")[2])
