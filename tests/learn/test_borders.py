"""An error that names the allowed folders draws a border; what is outside of it fails wherever it is."""

# ruff: noqa: RUF001 (Chinese punctuation is meant)

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.tasks import call, digest_of, lessons_after, task
from rearview.learn.conditions import field_of, forms_named_by, key_of, meets, parse
from rearview.learn.facets import Facets
from rearview.learn.model import ScopedLesson
from rearview.learn.outside import is_outside, outside_class, roots_of
from rearview_interceptors.api import Condition, Kind

ROOT = "/srv/shelf"
OUTSIDE_ROOT = f"class:path=abspath!^{ROOT}"
DENIED = "Access denied - path outside allowed directories: {} not in " + ROOT

NAMED: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("the file server", DENIED.format("/etc/x"), {"path": "/etc/x"}, [ROOT]),
    ("the file server with two folders", DENIED.format("/etc/x") + ", /data", {"path": "/etc/x"}, ["/data", ROOT]),
    ("pathlib", f"ValueError: '/etc/x' is not in the subpath of '{ROOT}'", {"path": "/etc/x"}, [ROOT]),
    ("git", f"Repository path '/etc/x' is outside the allowed repository '{ROOT}'", {"path": "/etc/x"}, [ROOT]),
    ("a workspace", f"/etc/x is outside the workspace root ({ROOT}/).", {"path": "/etc/x"}, [ROOT]),
    ("within", f"Path must be within {ROOT}: /etc/x", {"path": "/etc/x"}, [ROOT]),
    ("a list", f'"/etc/x" is not permitted. Allowed directories: ["{ROOT}", "/data"]', {"path": "/etc/x"},
     ["/data", ROOT]),
    ("a folder with a blank", "/etc/x is outside of the allowed folder '/srv/my files'", {"path": "/etc/x"},
     ["/srv/my files"]),
    ("named afterwards", f"/etc/x refused: {ROOT} is the only allowed directory", {"path": "/etc/x"}, [ROOT]),
    ("Chinese", f"拒绝访问：路径 /etc/x 不在允许的目录 {ROOT} 内", {"path": "/etc/x"}, [ROOT]),
    ("Chinese without blanks", f"路径/etc/x超出工作区{ROOT}，访问被拒绝", {"path": "/etc/x"}, [ROOT]),
    ("not named, but the only path", f"Access denied. Allowed directories: {ROOT}", {"path": "/etc/x", "n": 1}, [ROOT]),
    ("a folder above the root", DENIED.format("/srv"), {"path": "/srv"}, [ROOT]),
    ("the root of everything", DENIED.format("/"), {"path": "/"}, [ROOT]),
    ("dots resolved", DENIED.format("/srv/b"), {"path": f"{ROOT}/../b"}, [ROOT]),
]  # fmt: skip


@pytest.mark.parametrize(("error", "arguments", "roots"), [n[1:] for n in NAMED], ids=[n[0] for n in NAMED])
def test_the_folders_that_an_error_names_as_allowed_are_a_border(
    error: str, arguments: dict[str, Any], roots: list[str]
) -> None:
    facets = Facets(arguments)

    found = [key for key in forms_named_by(error, facets, Kind.FORBIDDEN) if "!^" in key]

    assert found == [key_of(Condition.CLASS, ("path", outside_class(roots)))]
    assert all(meets(key, facets) for key in found)


NOT_NAMED: list[tuple[str, str, dict[str, Any], Kind]] = [
    ("no folder", "EACCES: permission denied, open '/etc/x'", {"path": "/etc/x"}, Kind.FORBIDDEN),
    ("a folder that holds the path", f"Access denied: {ROOT}/a is not allowed in {ROOT}", {"path": f"{ROOT}/a"},
     Kind.FORBIDDEN),
    ("one of two that holds it", f"outside allowed directories: {ROOT}/link not in /data, {ROOT}",
     {"path": f"{ROOT}/link"}, Kind.FORBIDDEN),
    ("a stack", "Access denied: /etc/x\n  at check (/app/dist/index.js:10:5)", {"path": "/etc/x"}, Kind.FORBIDDEN),
    ("a file of rules", "/etc/x is refused, see what is permitted in /app/rules.json", {"path": "/etc/x"},
     Kind.FORBIDDEN),
    ("another argument", f"/etc/x is outside the repository {ROOT}", {"path": "/etc/x", "repo": ROOT}, Kind.FORBIDDEN),
    ("nothing refused", f"/etc/x not found in workspace {ROOT}", {"path": "/etc/x"}, Kind.NOT_FOUND),
    ("more than four", f"outside allowed directories: /etc/x not in {ROOT}, /a, /b, /c, /d", {"path": "/etc/x"},
     Kind.FORBIDDEN),
    ("a relative path", DENIED.format("/home/me/x"), {"path": "x"}, Kind.FORBIDDEN),
    ("which of two paths", f"Access denied. Allowed directories: {ROOT}", {"path": "/etc/x", "to": "/opt/y"},
     Kind.FORBIDDEN),
]  # fmt: skip


@pytest.mark.parametrize(("error", "arguments", "kind"), [n[1:] for n in NOT_NAMED], ids=[n[0] for n in NOT_NAMED])
def test_without_a_plain_border_there_is_none(error: str, arguments: dict[str, Any], kind: Kind) -> None:
    assert [key for key in forms_named_by(error, Facets(arguments), kind) if "!^" in key] == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/etc/x", True), ("/", True), ("/srv", True), ("/srv/shelfless", True), ("/srv/shelf/../x", True),
        (ROOT, False), (f"{ROOT}/", False), (f"{ROOT}/a", False), ("/srv//shelf/a", False), ("/srv/./shelf/a", False),
        ("/srv/x/../shelf/a", False), ("a/b", False), ("../x", False), ("~/x", False), ("C:\\x", False), ("", False),
        ("/etc/x\ny", False), ("/etc/" + "x" * 400, False), (7, False), (None, False),
    ],
)  # fmt: skip
def test_outside_is_an_absolute_path_that_is_not_below_the_folder(value: Any, expected: bool) -> None:
    assert is_outside(value, (ROOT,)) is expected
    assert meets(OUTSIDE_ROOT, Facets({"path": value})) is expected


def test_what_is_in_one_of_several_folders_is_not_outside() -> None:
    key = key_of(Condition.CLASS, ("path", outside_class(["/srv/a=b&c", ROOT])))

    assert [meets(key, Facets({"path": path})) for path in (f"{ROOT}/x", "/srv/a=b&c/x", "/srv/a=b")] == [
        False, False, True,
    ]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=12).map("/".__add__), min_size=1, max_size=4))
def test_a_border_can_be_written_and_read(folders: list[str]) -> None:
    name = outside_class(folders)

    assert (name == "") is (roots_of(name) == ())
    assert name == "" or outside_class(roots_of(name)) == name
    key = key_of(Condition.CLASS, ("a.b[]", name)) if name else "class:a.b[]="
    parsed = parse(key)
    assert parsed is not None
    assert (field_of(key), parsed.parts) == ("a.b[]", (("a.b[]", name),))


@pytest.mark.parametrize(
    "name", ["", "abspath!^", "abspath!^a", "abspath!^/", "abspath!^/a/", "abspath!^/a//b", "abspath!^/a/../b",
             "abspath!^/a&", "abspath!^/a&/b&/c&/d&/e", "abspath^/a", "abspath!^/a%0Ab"],
)  # fmt: skip
def test_a_border_that_is_not_written_so_is_met_by_nothing(name: str) -> None:
    assert roots_of(name) == ()
    assert not meets(f"class:path={name}", Facets({"path": "/etc/x"}))


# ---------------------------------------------------------------- what is learned from it

SCATTERED = ["/etc/x1", "/opt/app/x2", "/home/u/x3"]


def held(lessons: list[ScopedLesson], path: str, env: str = "project:p1") -> list[str]:
    arguments = {"path": path}
    return [
        each.lesson.key
        for each in lessons
        if each.lesson.loud
        and each.env in ("", env)
        and meets(each.lesson.key, Facets(arguments), digest_of("read", arguments))
    ]


@pytest.mark.parametrize("tasks", [2, 3])
def test_paths_outside_in_scattered_folders_are_foreseen_in_a_folder_never_seen(tasks: int) -> None:
    lived = [
        task(n, call("read", {"path": path}, DENIED.format(path)), call("read", {"path": f"{ROOT}/f{n}"}))
        for n, path in enumerate(SCATTERED[:tasks])
    ]

    lessons = lessons_after(lived)

    assert held(lessons, "/var/log/new") == [OUTSIDE_ROOT]
    assert held(lessons, "/") == [OUTSIDE_ROOT]
    assert [held(lessons, path) for path in (f"{ROOT}/new", ROOT, "notes/a.txt", "../x", "~/x")] == [[]] * 5


@pytest.mark.parametrize("when", [-1, 1, 9], ids=["before", "between", "after"])
def test_one_success_outside_takes_the_border_away(when: int) -> None:
    lived = [task(2 * n, call("read", {"path": path}, DENIED.format(path))) for n, path in enumerate(SCATTERED)]
    lived.append(task(when, call("read", {"path": "/data/shared/a"})))
    lived.sort(key=lambda each: each.created_at)

    assert held(lessons_after(lived), "/var/log/new") == []


def test_a_border_that_differs_from_task_to_task_is_none() -> None:
    lived = [
        task(n, call("read", {"path": path}, f"outside allowed directories: {path} not in /jobs/{n}"))
        for n, path in enumerate(SCATTERED)
    ]

    assert held(lessons_after(lived), "/var/log/new") == []


def test_the_same_path_again_and_again_draws_no_border() -> None:
    lived = [task(n, call("read", {"path": "/etc/x"}, DENIED.format("/etc/x"))) for n in range(3)]

    assert held(lessons_after(lived), "/opt/y") == []


def test_folders_and_borders_are_those_of_one_project() -> None:
    lived = [
        task(n, call("read", {"path": path}, DENIED.format(path)))
        for n, path in enumerate(["/home/u/b/x", "/home/u/b/y", "/opt/z"])
    ]

    lessons = lessons_after(lived)

    assert held(lessons, "/home/u/b/z") != []
    assert held(lessons, "/home/u/b/z", env="project:b") == []
