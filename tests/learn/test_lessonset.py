"""Two tasks with the same kind of mistake give a lesson that is true of a third, and never of a call that works."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.tasks import START, call, digest_of, fixes_after, lessons_after, rows_of, task
from rearview.learn.conditions import meets
from rearview.learn.facets import Facets
from rearview.learn.lessonset import Options, lessons_of
from rearview.learn.model import ScopedLesson, ToolSchema
from rearview.learn.reliability import default_table
from rearview_interceptors.api import Condition, Fix, Kind

ROOT = "/srv/demo/files"


def outside(path: str, resolved: str = "") -> str:
    return f"Access denied - path outside allowed directories: {resolved or path} not in {ROOT}"


def lacking(tool: str, key: str) -> str:
    return f"MCP error -32602: Input validation error: Invalid arguments for tool {tool}: Required at {key}"


def not_a_list(key: str) -> str:
    return f"MCP error -32602: Input validation error: Invalid arguments for tool read_many: Expected array, received string at {key}"  # noqa: E501


def no_date(value: str) -> str:
    return f"ValueError: time data '{value}' does not match format '%Y-%m-%d'"


def no_table(name: str) -> str:
    return f"Database error: no such table: {name}"


def no_branch(name: str) -> str:
    return f"Error executing tool git_checkout: Ref '{name}' did not resolve to an object"


# tool, [(arguments that fail, error, arguments that then work)], a fourth failing call, calls that work
MISTAKES: dict[str, tuple[str, list[tuple[Any, str, Any]], Any, list[Any]]] = {
    "a wrong argument name": (
        "read",
        [
            ({"file": f"{ROOT}/a.txt"}, lacking("read", "path"), {"path": f"{ROOT}/a.txt"}),
            ({"file": f"{ROOT}/docs/b.md"}, lacking("read", "path"), {"path": f"{ROOT}/docs/b.md"}),
            ({"file": f"{ROOT}/c"}, lacking("read", "path"), {"path": f"{ROOT}/c"}),
        ],
        {"file": f"{ROOT}/src/d.py"},
        [{"path": f"{ROOT}/x.txt"}, {"path": f"{ROOT}/docs/y.md", "head": 5}],
    ),
    "a relative path": (
        "read",
        [
            ({"path": "docs/a.txt"}, outside("", "/srv/home/docs/a.txt"), {"path": f"{ROOT}/docs/a.txt"}),
            ({"path": "src/b.py"}, outside("", "/srv/home/src/b.py"), {"path": f"{ROOT}/src/b.py"}),
            ({"path": "./c.md"}, outside("", "/srv/home/c.md"), {"path": f"{ROOT}/c.md"}),
        ],
        {"path": "lib/deep/d.js"},
        [{"path": f"{ROOT}/x.txt"}, {"path": f"{ROOT}/docs/y.md"}],
    ),
    "a bare name where a path belongs": (
        "git_status",
        [
            ({"repo_path": "shop"}, "Error executing tool git_status: /srv/home/shop", {"repo_path": "/srv/git/shop"}),
            ({"repo_path": "cart"}, "Error executing tool git_status: /srv/home/cart", {"repo_path": "/srv/git/cart"}),
            ({"repo_path": "till"}, "Error executing tool git_status: /srv/home/till", {"repo_path": "/srv/git/till"}),
        ],
        {"repo_path": "store"},
        [{"repo_path": "/srv/git/store"}],
    ),
    "a string where a list belongs": (
        "read_many",
        [
            ({"paths": f"{ROOT}/a.txt"}, not_a_list("paths"), {"paths": [f"{ROOT}/a.txt"]}),
            ({"paths": "b.txt"}, not_a_list("paths"), {"paths": [f"{ROOT}/b.txt"]}),
            ({"paths": f"{ROOT}/c,{ROOT}/d"}, not_a_list("paths"), {"paths": [f"{ROOT}/c", f"{ROOT}/d"]}),
        ],
        {"paths": "some file"},
        [{"paths": [f"{ROOT}/x.txt"]}, {"paths": [f"{ROOT}/x.txt", f"{ROOT}/y.txt"]}],
    ),
    "a date in a wrong format": (
        "events",
        [
            ({"day": "12/05/2026"}, no_date("12/05/2026"), {"day": "2026-05-12"}),
            ({"day": "31/01/2026"}, no_date("31/01/2026"), {"day": "2026-01-31"}),
            ({"day": "09/11/2026"}, no_date("09/11/2026"), {"day": "2026-11-09"}),
        ],
        {"day": "24/12/2026"},
        [{"day": "2026-12-24"}, {"day": "2026-03-03"}],
    ),
    "a path outside the allowed folder": (
        "read",
        [
            ({"path": "/etc/passwd"}, outside("/etc/passwd"), {"path": f"{ROOT}/passwd.txt"}),
            ({"path": "/etc/ssh/config"}, outside("/etc/ssh/config"), {"path": f"{ROOT}/config"}),
            ({"path": "/etc/hosts"}, outside("/etc/hosts"), {"path": f"{ROOT}/hosts"}),
        ],
        {"path": "/etc/cron.d/job"},
        [{"path": f"{ROOT}/x.txt"}, {"path": f"{ROOT}/etc/y.md"}],
    ),
    "a neighbour of the allowed folder": (
        "read",
        [
            ({"path": "/srv/demo/secret/a"}, outside("/srv/demo/secret/a"), {"path": f"{ROOT}/a"}),
            ({"path": "/srv/demo/secret/b/c"}, outside("/srv/demo/secret/b/c"), {"path": f"{ROOT}/b"}),
            ({"path": "/srv/demo/secret/d"}, outside("/srv/demo/secret/d"), {"path": f"{ROOT}/d"}),
        ],
        {"path": "/srv/demo/secret/e.txt"},
        [{"path": f"{ROOT}/x.txt"}, {"path": "/srv/demo/files/secret/y.md"}],
    ),
    "a table that is not there": (
        "query",
        [
            ({"sql": "SELECT id FROM users LIMIT 3"}, no_table("users"), {"sql": "SELECT id FROM person LIMIT 3"}),
            ({"sql": "SELECT u.name FROM users u"}, no_table("users"), {"sql": "SELECT p.name FROM person p"}),
            ({"sql": "SELECT count(*) FROM users"}, no_table("users"), {"sql": "SELECT count(*) FROM person"}),
        ],
        {"sql": "SELECT max(age) FROM users WHERE city = 'Rome'"},
        [{"sql": "SELECT max(age) FROM person WHERE city = 'Rome'"}, {"sql": "SELECT 1 FROM orders"}],
    ),
    "a branch that is not there": (
        "git_checkout",
        [
            ({"repo": "/srv/git/a", "branch": "master"}, no_branch("master"), {"repo": "/srv/git/a", "branch": "main"}),
            ({"repo": "/srv/git/b", "branch": "master"}, no_branch("master"), {"repo": "/srv/git/b", "branch": "main"}),
            ({"repo": "/srv/git/c", "branch": "master"}, no_branch("master"), {"repo": "/srv/git/c", "branch": "main"}),
        ],
        {"repo": "/srv/git/d", "branch": "master"},
        [{"repo": "/srv/git/d", "branch": "main"}, {"repo": "/srv/git/a", "branch": "fix"}],
    ),
}


def matching(lessons: list[ScopedLesson], tool: str, arguments: Mapping[str, Any]) -> list[ScopedLesson]:
    digest = digest_of(tool, arguments)
    return [each for each in lessons if each.tool == tool and meets(each.lesson.key, Facets(arguments), digest)]


@pytest.mark.parametrize("corrected", [True, False], ids=["then corrected", "left at that"])
@pytest.mark.parametrize("tasks", [2, 3])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_same_kind_of_mistake_is_foreseen_with_other_values(mistake: str, tasks: int, corrected: bool) -> None:
    tool, tries, fourth, working = MISTAKES[mistake]
    lived = [
        task(number, call(tool, bad, error), *([call(tool, good)] if corrected else []))
        for number, (bad, error, good) in enumerate(tries[:tasks])
    ]

    lessons = lessons_after(lived)

    assert any(each.lesson.loud for each in matching(lessons, tool, fourth)), [each.lesson for each in lessons]
    for arguments in [*working, *(good for _, _, good in tries)]:
        assert matching(lessons, tool, arguments) == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_calls_that_worked_before_are_never_matched_either(mistake: str) -> None:
    tool, tries, fourth, working = MISTAKES[mistake]
    lived = [task(number, call(tool, arguments)) for number, arguments in enumerate(working)]
    lived += [task(number + 5, call(tool, bad, error)) for number, (bad, error, _) in enumerate(tries)]

    lessons = lessons_after(lived)

    assert any(each.lesson.loud for each in matching(lessons, tool, fourth))
    assert [each for arguments in working for each in matching(lessons, tool, arguments)] == []


def test_one_task_gives_advice_about_what_the_error_names_and_holds_only_the_very_same_call() -> None:
    tool, tries, _, _ = MISTAKES["a wrong argument name"]
    bad, error, _ = tries[0]

    lessons = lessons_after([task(0, call(tool, bad, error))])

    assert {each.lesson.condition for each in lessons if each.lesson.loud} <= {Condition.EXACT}
    assert "lack:path" in {each.lesson.key for each in lessons}


def test_missing_files_do_not_blame_paths_or_folders_or_the_tool() -> None:
    lived = [
        task(
            n,
            call(
                "read", {"path": f"{ROOT}/src/{name}"}, f"ENOENT: no such file or directory, open '{ROOT}/src/{name}'"
            ),
        )
        for n, name in enumerate(["a.py", "b.py", "c.py", "d.py"])
    ]

    lessons = lessons_after(lived)

    assert matching(lessons, "read", {"path": f"{ROOT}/src/main.py"}) == []


def test_a_folder_under_which_a_call_worked_is_never_blamed() -> None:
    lived = [task(0, call("read", {"path": "/data/shared/ok.txt"}))]
    lived += [
        task(n, call("read", {"path": f"/data/{name}"}, f"EACCES: permission denied, open '/data/{name}'"))
        for n, name in enumerate(["shared/x", "shared/y", "shared/z"], 1)
    ]

    lessons = lessons_after(lived)

    assert matching(lessons, "read", {"path": "/data/shared/other.txt"}) == []


def test_two_good_trajectories_since_the_last_failure_silence_a_lesson() -> None:
    failed = [task(n, call("read", {"path": f"docs/{n}.md"}, outside("", f"/srv/home/docs/{n}.md"))) for n in range(3)]
    mended = [task(n + 5, call("read", {"path": f"docs/x{n}.md"})) for n in range(2)]

    assert matching(lessons_after(failed), "read", {"path": "docs/q.md"}) != []
    assert matching(lessons_after(failed + mended), "read", {"path": "docs/q.md"}) == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("HTTP 429 Too Many Requests", Kind.RATE_LIMITED),
        ("upstream timed out", Kind.TRANSIENT),
        ("spawn git ENOENT", Kind.ENVIRONMENT),
        ("ValueError: No emails found.", Kind.EMPTY),
    ],
)
def test_failures_that_the_call_is_not_to_blame_for_are_never_loud(error: str, kind: Kind) -> None:
    lived = [task(n, call("search", {"query": "same"}, error, kind=kind)) for n in range(6)]

    lessons = lessons_after(lived)

    assert [each.lesson for each in lessons if each.lesson.loud] == []
    assert kind is not Kind.EMPTY or {each.lesson.condition for each in lessons} <= {Condition.EXACT}


def test_a_whole_tool_is_blamed_only_after_five_failures_and_no_success() -> None:
    def lived(count: int) -> list[Any]:
        return [task(n, call("render", {"x": n}, "internal inconsistency", kind=Kind.OTHER)) for n in range(count)]

    assert matching(lessons_after(lived(4)), "render", {"x": 99}) == []
    assert {each.lesson.key for each in matching(lessons_after(lived(5)), "render", {"x": 99})} >= {"tool:"}
    assert matching(lessons_after([*lived(5), task(9, call("render", {"x": 7}))]), "render", {"x": 99}) == []


def test_an_unknown_tool_is_blamed_after_two() -> None:
    lived = [
        task(n, call("copy_file", {"path": f"/a/{n}"}, "MCP error -32602: Tool copy_file not found")) for n in range(2)
    ]

    assert [each.lesson.key for each in lessons_after(lived) if each.lesson.loud and each.lesson.key == "tool:"] == [
        "tool:"
    ]


def test_the_schema_gives_lessons_of_its_own() -> None:
    schema = ToolSchema("read", {"properties": {"path": {"type": "string"}}, "required": ["path"]})
    lived = [task(n, call("read", {"file": f"/a/{n}"}, "that did not work", kind=Kind.ARGUMENT)) for n in range(2)]

    lessons = lessons_after(lived, {("files", "read"): schema})

    assert {each.lesson.key for each in lessons if each.lesson.loud} >= {"schema:required:path", "schema:extra:file"}


def test_a_lesson_carries_what_is_known_about_it() -> None:
    tool, tries, _, _ = MISTAKES["a date in a wrong format"]
    lived = [
        task(n, call(tool, bad, error, kind=Kind.ARGUMENT), call(tool, good))
        for n, (bad, error, good) in enumerate(tries)
    ]

    found = next(each for each in lessons_after(lived) if each.lesson.key == "class:day=otherdate").lesson

    assert (found.condition, found.field, found.kind, found.failed, found.met) == (
        Condition.CLASS, "day", Kind.ARGUMENT, 3, 3,
    )  # fmt: skip
    assert found.last_seen == START + 2 * 3600.0
    assert found.good_form == "####-##-##"
    assert found.fixes == (Fix("convert", "day", "####-##-##", 3),)


def test_names_are_bound_to_their_project_and_forms_are_not() -> None:
    tool, tries, _, _ = MISTAKES["a table that is not there"]
    names = lessons_after([task(n, call(tool, bad, error)) for n, (bad, error, _) in enumerate(tries)])
    tool, tries, _, _ = MISTAKES["a relative path"]
    forms = lessons_after([task(n, call(tool, bad, error)) for n, (bad, error, _) in enumerate(tries)])

    assert {each.env for each in names if each.lesson.condition is Condition.NAME} == {"project:p1"}
    assert {each.env for each in forms if each.lesson.condition is Condition.CLASS} == {""}


def test_more_trajectories_can_be_demanded_before_a_call_is_held() -> None:
    tool, tries, fourth, _ = MISTAKES["a relative path"]
    lived = [task(n, call(tool, bad, error)) for n, (bad, error, _) in enumerate(tries)]

    assert any(each.lesson.loud for each in matching(lessons_after(lived, hold_min_trajectories=3), tool, fourth))
    assert not any(each.lesson.loud for each in matching(lessons_after(lived, hold_min_trajectories=4), tool, fourth))


@pytest.mark.parametrize(
    ("kind", "tasks", "demanded", "held"),
    [
        (Kind.ARGUMENT, 1, 2, True),
        (Kind.UNKNOWN_TOOL, 1, 2, True),
        (Kind.NOT_FOUND, 1, 2, False),
        (Kind.OTHER, 1, 2, False),
        (Kind.FORBIDDEN, 1, 2, False),
        (Kind.PRECONDITION, 1, 2, False),
        (Kind.NOT_FOUND, 2, 2, True),
        (Kind.OTHER, 2, 3, True),
        (Kind.NOT_FOUND, 1, 1, True),
    ],
)
def test_the_very_same_call_is_held_after_two_tasks_if_more_than_its_arguments_decides(
    kind: Kind, tasks: int, demanded: int, held: bool
) -> None:
    lived = [task(n, call("run", {"name": "x"}, "boom", kind=kind)) for n in range(tasks)]

    lessons = lessons_after(lived, hold_min_trajectories=demanded)

    exact = [each.lesson for each in lessons if each.lesson.condition is Condition.EXACT]
    assert [lesson.loud for lesson in exact] == [held]


def test_muted_lessons_stay_away_and_the_limit_keeps_those_met_last() -> None:
    tool, tries, _, _ = MISTAKES["a relative path"]
    lived = [task(n, call(tool, bad, error)) for n, (bad, error, _) in enumerate(tries)]
    every = lessons_after(lived)

    muted = lessons_after(lived, muted=frozenset({every[0].lesson.id}))
    few = lessons_after(lived, limit=1)

    assert every[0].lesson.id not in {each.lesson.id for each in muted}
    assert few == every[:1]


argument = st.one_of(
    st.sampled_from(["docs/a.txt", "/etc/hosts", f"{ROOT}/a", "main", "12/05/2026", "2026-05-12", "two words", "7"]),
    st.integers(-3, 3),
    st.lists(st.sampled_from(["a", "b"]), max_size=2),
)
good_calls = st.builds(
    call, st.sampled_from(["read", "write"]), st.dictionaries(st.sampled_from(["path", "day"]), argument, max_size=2)
)


@settings(deadline=None)
@given(st.lists(st.lists(good_calls, max_size=4), max_size=6))
def test_calls_that_only_ever_worked_give_no_lesson(tasks: list[list[Any]]) -> None:
    assert lessons_after(task(number, *calls) for number, calls in enumerate(tasks)) == []


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(4)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    tool, tries, _, working = MISTAKES["a relative path"]
    lived = [task(n, call(tool, bad, error), call(tool, good)) for n, (bad, error, good) in enumerate(tries)]
    rows = rows_of([*lived, task(4, call(tool, working[0]))])
    fixes = fixes_after(lived)
    options = Options(now=START + 1e5)
    shuffled = sorted(rows, key=lambda row: (order[len(row.key) % 4], row.key))

    assert lessons_of(shuffled, fixes, default_table(), options) == lessons_of(rows, fixes, default_table(), options)
