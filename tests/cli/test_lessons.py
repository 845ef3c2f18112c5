"""What the user can see and decide about lessons."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Run
from rearview.store.lessons import LessonsTable


def ids(run: Run) -> list[str]:
    return [lesson["id"] for lesson in run("lessons", "--json").data()]


def published(root: Path) -> set[str]:
    table = LessonsTable.open(root / "lessons.rvt")
    try:
        return {scoped.lesson.id for scoped in table.for_tool("ann", "files", "read")}
    finally:
        table.close()


def test_the_list_names_tool_condition_counts_and_voice(run: Run, seen: Path) -> None:
    lessons = run("lessons", "list", "--json").data()
    told = run("lessons", "--all").out.splitlines()

    assert {(lesson["server"], lesson["tool"], lesson["kind"]) for lesson in lessons} == {("files", "read", "argument")}
    assert told[0].split() == ["id", "failed", "last", "does", "tool", "and", "what", "fails"]
    assert len(told) == len(lessons) + 1
    assert any(lesson["failed"] == 3 for lesson in lessons)


@pytest.mark.parametrize("options", [(), ("--plain",)])
def test_the_list_fits_a_terminal_of_80_columns_and_breaks_no_id_or_count(
    terminal: Callable[..., list[str]], run: Run, seen: Path, options: tuple[str, ...]
) -> None:
    lessons = run("lessons", "--json").data()

    told = terminal("lessons", "--all", *options)

    assert max(map(len, told)) <= 80
    assert {line.split()[0] for line in told if re.match(r" *\w{8} +\d of \d ", line)} == {
        lesson["id"][:8] for lesson in lessons
    }
    assert "read of files: path is a relative path (wrong arguments)" in " ".join(" ".join(told).split())


def test_a_server_that_nothing_is_known_of_is_told_apart_from_no_lessons_at_all(run: Run, seen: Path) -> None:
    assert (
        run("lessons", "list", "--server", "git").out == "No lesson fits --server git. There are lessons of: files.\n"
    )
    assert run("lessons", "--server", "git").out == run("lessons", "list", "--server", "git").out
    assert run("lessons", "list", "--server", "git", "--json").data() == []


def test_without_any_lesson_the_list_says_when_they_come(run: Run) -> None:
    assert run("lessons", "--server", "git").out.startswith("No lessons yet.")


def test_lessons_about_one_call_are_counted_and_told_with_the_call_on_demand(run: Run, seen: Path) -> None:
    exact = [lesson for lesson in run("lessons", "--json").data() if lesson["condition"] == "exact"]

    short, long = run("lessons").out, run("lessons", "list", "--all").out

    assert len(exact) == 3
    assert not any(lesson["id"][:8] in short for lesson in exact)
    assert short.splitlines()[-1].startswith("3 lessons are about the very same call")
    assert all(lesson["id"][:8] in long for lesson in exact)
    assert 'exactly the call {"path": "notes.txt"}' in long
    assert sorted(lesson["arguments"]["path"] for lesson in exact) == ["list.txt", "notes.txt", "plan.txt"]
    assert exact[0]["arguments"]["path"] in run("lessons", "show", exact[0]["id"]).out


def test_an_option_of_the_list_in_front_of_another_action_is_refused(run: Run, seen: Path) -> None:
    printed = run("lessons", "--server", "git", "mute", "x")

    assert (printed.code, printed.err) == (2, "mcp-rearview: --server is nothing for `lessons mute`: leave it out\n")


def test_one_lesson_is_shown_with_its_evidence_by_the_first_letters_of_its_id(run: Run, seen: Path) -> None:
    lesson = ids(run)[0]

    shown = run("lessons", "show", lesson, "--json").data()
    told = run("lessons", "show", lesson[:-1]).out

    assert shown["id"] == lesson
    assert shown["evidence"]
    assert lesson in told
    assert "evidence" in told


@pytest.mark.parametrize("name", ["no-such-id", ""])
def test_an_id_that_is_unknown_or_ambiguous_is_one_line_and_exit_code_2(run: Run, seen: Path, name: str) -> None:
    assert len(ids(run)) > 1

    printed = run("lessons", "show", name)

    assert printed.code == 2
    assert printed.err.startswith(f"mcp-rearview: '{name}' ")
    assert printed.err.count("\n") == 1


def test_a_muted_lesson_leaves_the_table_and_comes_back(run: Run, seen: Path) -> None:
    lesson = ids(run)[0]

    run("lessons", "mute", lesson)
    muted = published(seen)
    states = {each["id"]: each["state"] for each in run("lessons", "--json").data()}
    run("lessons", "unmute", lesson)

    assert lesson not in muted
    assert states[lesson] == "muted"
    assert lesson in published(seen)


@pytest.fixture
def twins(run: Run, tmp_path: Path) -> tuple[str, str]:
    """Ids of two lessons that say the same of one key: what failed says it, and so does the schema."""
    good = {"field": "path", "kind": "argument", "failed": 3, "met": 3, "last_seen": 1.7e9, "score": 0.9, "loud": True}
    bodies = [
        {"id": "x", "condition": key.partition(":")[0], "key": key, **good}
        for key in ("lack:path", "schema:required:path", "lack:mode")
    ]
    entries = [{"server": "files", "tool": "read", "env": "", "lesson": body} for body in bodies]
    file = tmp_path / "twins.json"
    file.write_text(json.dumps({"rearview_lessons": 1, "lessons": entries}))
    run("lessons", "import", str(file))
    named = {lesson["key"]: lesson["id"] for lesson in run("lessons", "--json").data()}
    return named["lack:path"], named["schema:required:path"]


def states(run: Run) -> dict[str, str]:
    return {each["key"]: each["state"] for each in run("lessons", "--json").data()}


def test_two_lessons_that_say_the_same_are_muted_and_unmuted_together(run: Run, twins: tuple[str, str]) -> None:
    muted = run("lessons", "mute", twins[0])
    silent = states(run)
    unmuted = run("lessons", "unmute", twins[1], "--json").data()

    assert muted.out == (
        f"{twins[0]} is muted. {twins[1]}, which says the same in another way, is too. Relays know within a second.\n"
    )
    assert silent == {"lack:path": "muted", "schema:required:path": "muted", "lack:mode": "active"}
    assert unmuted == {"id": twins[1], "action": "unmute", "twins": [twins[0]]}
    assert set(states(run).values()) == {"active"}


def test_of_two_lessons_that_say_the_same_only_the_one_that_is_named_is_forgotten(
    run: Run, twins: tuple[str, str]
) -> None:
    told = run("lessons", "forget", twins[0]).out

    assert f"{twins[1]}, which says the same in another way, is not." in told
    assert set(states(run)) == {"schema:required:path", "lack:mode"}


@pytest.mark.parametrize("action", ["show", "mute"])
def test_what_a_session_remembered_is_told_apart_from_a_wrong_id(run: Run, seen: Path, action: str) -> None:
    printed = run("lessons", action, "s00ff00ff00ff00ff")

    assert printed.code == 2
    assert "remembered of its own session" in printed.err
    assert "[servers.NAME.tools.TOOL]" in printed.err


def test_a_forgotten_lesson_is_gone_from_list_and_table(run: Run, seen: Path) -> None:
    lesson = ids(run)[0]

    printed = run("lessons", "forget", lesson, "--json")

    assert printed.data() == {"id": lesson, "action": "forget", "twins": []}
    assert lesson not in ids(run)
    assert lesson not in published(seen)


def test_lessons_travel_in_a_file_to_another_folder(run: Run, seen: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "team.json", str(tmp_path / "other")

    exported = run("lessons", "export", "--all", str(file), "--json").data()
    imported = run("lessons", "import", str(file), "--state", other, "--json").data()
    again = run("lessons", "import", str(file), "--state", other, "--json").data()

    assert exported == {"exported": len(ids(run)), "file": str(file)}
    assert imported == {"imported": exported["exported"]}
    assert again == {"imported": 0}
    assert published(tmp_path / "other") == published(seen)


def test_lessons_about_one_call_stay_where_their_digest_means_something(run: Run, seen: Path) -> None:
    known = {lesson["key"] for lesson in run("lessons", "--json").data()}

    told = {entry["lesson"]["key"] for entry in run("lessons", "export", "-").data()["lessons"]}

    assert told == {key for key in known if not key.startswith("exact:")} != known


def test_an_export_to_standard_output_is_the_file_itself(run: Run, seen: Path, tmp_path: Path) -> None:
    file = tmp_path / "team.json"

    run("lessons", "export", str(file))

    assert json.loads(file.read_text()) == run("lessons", "export", "-").data()


@pytest.mark.parametrize("content", [b"no json", b"[1]", b'{"rearview_lessons": 99}', b"[" * 100_000, b"\xff"])
def test_a_file_that_is_no_export_is_refused_in_one_line(run: Run, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "strange.json"
    file.write_bytes(content)

    printed = run("lessons", "import", str(file))

    assert printed.code == 2
    assert printed.err.startswith("mcp-rearview: ")
    assert printed.err.count("\n") == 1


def test_an_export_replaces_a_file_only_when_told_to(run: Run, seen: Path, tmp_path: Path) -> None:
    file = tmp_path / "team.json"
    file.write_text("mine")

    refused = run("lessons", "export", str(file))
    kept = file.read_text()
    forced = run("lessons", "export", "--force", str(file))

    assert (refused.code, kept, forced.code) == (2, "mine", 0)
    assert refused.err == (f"mcp-rearview: {file}: is there already: name another file, or add --force to replace it\n")
    assert "rearview_lessons" in file.read_text()


def test_one_bad_entry_is_named_with_its_place_and_nothing_is_imported(run: Run, seen: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "team.json", str(tmp_path / "other")
    run("lessons", "export", str(file))
    exported = json.loads(file.read_text())
    exported["lessons"][1]["lesson"] |= {"failed": 9, "met": 3}
    file.write_text(json.dumps(exported))

    printed = run("lessons", "import", str(file), "--state", other)

    assert printed.code == 2
    assert "entry 2: lesson.failed is 9, but takes at most lesson.met, which is 3" in printed.err
    assert "nothing was imported" in printed.err
    assert run("lessons", "--json", "--state", other).data() == []
