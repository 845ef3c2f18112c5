"""What is learned from a mistake is never held against a call that is fine."""

from collections.abc import Mapping
from typing import Any

import pytest

from fixtures.tasks import call, digest_of, lessons_after, task
from rearview.learn.conditions import meets
from rearview.learn.facets import Facets
from rearview.learn.model import ScopedLesson, ToolSchema
from rearview_interceptors.api import Kind

ROOT = "/srv/demo/files"
DENIED = "Access denied - path outside allowed directories: {} not in " + ROOT


def loud_keys(lessons: list[ScopedLesson], tool: str, arguments: Mapping[str, Any]) -> list[str]:
    facets, digest = Facets(arguments), digest_of(tool, arguments)
    return [each.lesson.key for each in lessons if each.lesson.loud and meets(each.lesson.key, facets, digest)]


@pytest.mark.parametrize(
    "bad", [["../x/a.txt", "../b/c.md", "../../d"], ["~/x/a.txt", "~/b/c.md", "~me/d"]], ids=["upwards", "home"]
)
def test_paths_that_lead_out_say_nothing_about_relative_paths(bad: list[str]) -> None:
    lived = [
        task(n, call("read", {"path": path}, DENIED.format(f"/srv/home/{path.lstrip('./~')}")))
        for n, path in enumerate(bad)
    ]

    lessons = lessons_after(lived)

    assert loud_keys(lessons, "read", {"path": bad[0].replace("a.txt", "new.txt")}) != []
    assert [loud_keys(lessons, "read", {"path": path}) for path in ("notes/a.txt", "a/../b.txt", f"{ROOT}/a")] == [
        []
    ] * 3


def test_a_path_with_dots_that_stays_inside_says_nothing_about_plain_ones() -> None:
    lived = [
        task(n, call("read", {"path": path}, f"Path traversal is not allowed: {path}", kind=Kind.FORBIDDEN))
        for n, path in enumerate(["a/../b.txt", "c/../d.txt", "e/../f.txt"])
    ]

    assert loud_keys(lessons_after(lived), "read", {"path": "notes/a.txt"}) == []


COUNTED = ToolSchema(
    "read",
    {
        "properties": {"path": {"type": "string"}, "head": {"type": "integer"}, "order": {"enum": ["up", "down"]}},
        "required": ["path"],
    },
)
SCHEMAS = {("files", "read"): COUNTED}
NO_NUMBER = [
    "MCP error -32602: Invalid arguments for tool read: Expected number, received string at head",
    "1 validation error for readArguments\nhead\n  Input should be a valid integer [type=int_type, input_value='3']",
    "Input validation error: '{head}' is not of type 'integer'",
    "TypeError: '<=' not supported between instances of 'str' and 'int'",
]


@pytest.mark.parametrize("error", NO_NUMBER)
def test_a_number_as_text_is_held_after_it_failed_here(error: str) -> None:
    lived = [
        task(
            n,
            call("read", {"path": f"/a/{n}", "head": str(n + 3)}, error.format(head=n + 3)),
            call("read", {"path": f"/a/{n}", "head": n + 3}),
        )
        for n in range(2)
    ]

    lessons = lessons_after(lived, SCHEMAS)

    assert loud_keys(lessons, "read", {"path": "/b", "head": "7"}) != []
    assert loud_keys(lessons, "read", {"path": "/b", "head": 7}) == []
    assert loud_keys(lessons, "read", {"path": "/b"}) == []


@pytest.mark.parametrize("error", NO_NUMBER)
def test_one_success_with_a_number_as_text_silences_it(error: str) -> None:
    lived = [task(n, call("read", {"path": f"/a/{n}", "head": str(n + 3)}, error.format(head=n + 3))) for n in range(3)]
    lived.append(task(9, call("read", {"path": "/c", "head": "12"})))

    assert loud_keys(lessons_after(lived, SCHEMAS), "read", {"path": "/b", "head": "7"}) == []


@pytest.mark.parametrize(
    "error",
    [
        "Invalid argument: path must be absolute",
        "MCP error -32602: Input validation error: Invalid arguments for tool read: Required at path",
        "invalid regular expression",
        "ValueError: something is wrong",
        "ENOENT: no such file or directory, open '/x'",
    ],
)
def test_a_server_that_takes_numbers_as_text_is_never_said_to_refuse_them(error: str) -> None:
    lived = [task(n, call("read", {"path": f"p{n}", "head": str(n + 3), "order": "date"}, error)) for n in range(4)]

    lessons = lessons_after(lived, SCHEMAS)

    assert [each.lesson.key for each in lessons if "schema:type" in each.lesson.key or "enum" in each.lesson.key] == []


def test_an_order_that_the_schema_does_not_list_is_blamed_by_what_the_error_names() -> None:
    error = "Invalid option: expected one of 'up'|'down' at order"
    lived = [task(n, call("read", {"path": f"/a{n}", "order": word}, error)) for n, word in enumerate(["x", "yy"])]

    assert "schema:enum:order" in {each.lesson.key for each in lessons_after(lived, SCHEMAS) if each.lesson.loud}


def test_missing_files_do_not_blame_relative_paths_though_the_error_shows_them_resolved() -> None:
    lived = [
        task(n, call("read", {"path": path}, f"ENOENT: no such file or directory, open '/srv/home/{path}'"))
        for n, path in enumerate(["src/a.py", "src/b.py", "Makefile", "LICENSE"])
    ]

    lessons = lessons_after(lived)

    assert [loud_keys(lessons, "read", {"path": path}) for path in ("src/main.py", "Dockerfile")] == [[], []]


def test_a_table_that_is_missing_without_its_schema_is_there_with_it() -> None:
    error = 'relation "users" does not exist'
    lived = [
        task(
            n,
            call("query", {"sql": wrong}, error),
            call("query", {"sql": wrong.replace("users", "app.users")}),
        )
        for n, wrong in enumerate(["SELECT id FROM users", "SELECT name FROM users"])
    ]

    lessons = lessons_after(lived)

    assert loud_keys(lessons, "query", {"sql": "SELECT mail FROM users"}) == ["name:tbl:users"]
    assert loud_keys(lessons, "query", {"sql": "SELECT mail FROM app.users"}) == []


def test_words_that_the_error_names_do_not_blame_all_other_words() -> None:
    lived = [
        task(
            n,
            call("now", {"timezone": bad}, f"Invalid timezone: 'No time zone found with key {bad}'"),
            call("now", {"timezone": good}),
        )
        for n, (bad, good) in enumerate(
            [("Berlin", "Europe/Berlin"), ("Tokyo", "Asia/Tokyo"), ("Paris", "Europe/Paris"), ("Rome", "Europe/Rome")]
        )
    ]

    assert loud_keys(lessons_after(lived), "now", {"timezone": "UTC"}) == []


def test_a_step_that_has_to_come_first_is_not_missing_for_ever() -> None:
    error = "Ref e5 not found in the current page snapshot. Try capturing new snapshot."

    lessons = lessons_after([task(0, call("click", {"ref": "e5"}, error))])

    assert loud_keys(lessons, "click", {"ref": "e5"}) == []


def test_a_key_that_the_schema_lets_be_missing_is_not_missed_in_every_call() -> None:
    schema = ToolSchema(
        "issue", {"properties": {"action": {"type": "string"}, "title": {"type": "string"}}, "required": ["action"]}
    )
    lived = [
        task(
            n,
            call("issue", {"action": word, "n": n + 1}, "Error: missing required parameter: title"),
            call("issue", {"action": word, "title": "x"}),
        )
        for n, word in enumerate(["create", "open", "add"])
    ]

    told, unknown = lessons_after(lived, {("files", "issue"): schema}), lessons_after(lived)

    assert "lack:title" in {each.lesson.key for each in told}
    assert [loud_keys(told, "issue", each) for each in ({"action": "list"}, {"action": "get", "n": 1})] == [[], []]
    assert loud_keys(unknown, "issue", {"action": "make"}) == ["lack:title"]
