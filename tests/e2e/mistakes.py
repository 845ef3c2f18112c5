"""The mistakes that agents make with two real servers, each with other values in every task."""

import random
import string
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Arguments = Mapping[str, Any]
_SYLLABLES = ("ba", "co", "du", "fe", "gri", "ho", "ja", "ku", "lo", "mi", "nor", "pe", "qui", "ro", "sta", "tu", "ve")


@dataclass(frozen=True, slots=True)
class Place:
    """What one task works on: a folder of the server's, and words that no other task has."""

    folder: Path
    elsewhere: Path
    file: Path
    second: Path
    word: str
    sentence: str
    branch: str
    number: int
    order: str


@dataclass(frozen=True, slots=True)
class Habit:
    """What the agent of one run gets wrong again and again, although with other values."""

    wrong_key: str
    missing_branch: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """A call as the agent makes it, and the call that it should have made."""

    name: str
    tool: str
    wrong: Callable[[Place, Habit], Arguments]
    right: Callable[[Place], Arguments]

    def __str__(self) -> str:
        return self.name


FILESYSTEM = (
    Mistake(
        "wrong argument name", "read_text_file",
        lambda at, habit: {habit.wrong_key: str(at.file)},
        lambda at: {"path": str(at.file)},
    ),
    Mistake(
        "wrong argument name beside right ones", "write_file",
        lambda at, _: {"path": str(at.folder / f"{at.word}.new"), "text": at.sentence},
        lambda at: {"path": str(at.folder / f"{at.word}.new"), "content": at.sentence},
    ),
    Mistake(
        "two wrong argument names", "move_file",
        lambda at, _: {"from": str(at.second), "to": str(at.folder / at.branch)},
        lambda at: {"source": str(at.second), "destination": str(at.folder / at.branch)},
    ),
    Mistake(
        "number as text", "read_text_file",
        lambda at, _: {"path": str(at.file), "head": str(at.number)},
        lambda at: {"path": str(at.file), "head": at.number},
    ),
    Mistake(
        "value that the schema does not list", "list_directory_with_sizes",
        lambda at, _: {"path": str(at.folder), "sortBy": at.order},
        lambda at: {"path": str(at.folder), "sortBy": "size"},
    ),
    Mistake(
        "relative path that leads outside", "get_file_info",
        lambda at, _: {"path": f"../{at.folder.name}/{at.file.name}"},
        lambda at: {"path": str(at.file)},
    ),
    Mistake(
        "path outside of the root", "list_directory",
        lambda at, _: {"path": str(at.elsewhere / at.word)},
        lambda at: {"path": str(at.folder)},
    ),
    Mistake(
        "path outside of the root, in another folder every time", "search_files",
        lambda at, _: {"path": f"/{at.word}/{at.branch}", "pattern": "*"},
        lambda at: {"path": str(at.folder), "pattern": "*"},
    ),
    Mistake(
        "path in a home folder", "list_directory_with_sizes",
        lambda at, _: {"path": f"~/{at.word}"},
        lambda at: {"path": str(at.folder)},
    ),
    Mistake(
        "list of one in place of text", "directory_tree",
        lambda at, _: {"path": [str(at.folder)]},
        lambda at: {"path": str(at.folder)},
    ),
    Mistake(
        "text in place of a list", "read_multiple_files",
        lambda at, _: {"paths": str(at.file)},
        lambda at: {"paths": [str(at.file)]},
    ),
    Mistake(
        "missing argument", "edit_file",
        lambda at, _: {"path": str(at.file)},
        lambda at: {"path": str(at.file), "edits": [{"oldText": at.word, "newText": at.word.upper()}]},
    ),
)  # fmt: skip

GIT = (
    Mistake(
        "wrong argument name", "git_status",
        lambda at, habit: {habit.wrong_key: str(at.folder)},
        lambda at: {"repo_path": str(at.folder)},
    ),
    Mistake(
        "missing argument", "git_create_branch",
        lambda at, _: {"repo_path": str(at.folder)},
        lambda at: {"repo_path": str(at.folder), "branch_name": at.branch},
    ),
    Mistake(
        "text in place of a list", "git_add",
        lambda at, _: {"repo_path": str(at.folder), "files": at.file.name},
        lambda at: {"repo_path": str(at.folder), "files": [at.file.name]},
    ),
    Mistake(
        "word in place of a number", "git_log",
        lambda at, _: {"repo_path": str(at.folder), "max_count": at.word},
        lambda at: {"repo_path": str(at.folder), "max_count": at.number},
    ),
    Mistake(
        "name that the tool does not know", "git_branch",
        lambda at, _: {"repo_path": str(at.folder), "branch_type": "locals"},
        lambda at: {"repo_path": str(at.folder), "branch_type": "local"},
    ),
    Mistake(
        "relative path that is no repository", "git_log",
        lambda at, _: {"repo_path": at.folder.name},
        lambda at: {"repo_path": str(at.folder)},
    ),
    Mistake(
        "branch that does not exist", "git_checkout",
        lambda at, habit: {"repo_path": str(at.folder), "branch_name": habit.missing_branch},
        lambda at: {"repo_path": str(at.folder), "branch_name": "trunk"},
    ),
)  # fmt: skip


def habit(rng: random.Random) -> Habit:
    """Choose what this run's agent gets wrong."""
    return Habit(rng.choice(["file", "file_path", "filename", "directory"]), rng.choice(["master", "main", "develop"]))


def place(root: Path, elsewhere: Path, rng: random.Random) -> Place:
    """Make a folder with a file in it, that differs from all others."""
    name, word, branch, file = (_word(rng) for _ in range(4))
    folder = root / name
    folder.mkdir(parents=True)
    ending = rng.choice(["txt", "md", "py", "json"])
    made = Place(
        folder=folder,
        elsewhere=elsewhere,
        file=folder / f"{file}.{ending}",
        second=folder / f"{file}2.{ending}",
        word=word,
        sentence=f"{word} {_word(rng)} {rng.randrange(1000)}",
        branch=f"{branch}-{rng.randrange(100)}",
        number=rng.randrange(1, 10),
        order=rng.choice(["date", "modified", "created", "type", "extension"]),
    )
    made.second.write_text(word, encoding="utf-8")
    made.file.write_text(f"one\n{made.word}\n{_word(rng)}\n", encoding="utf-8")
    return made


def repository(root: Path, elsewhere: Path, rng: random.Random) -> Place:
    """Make a repository with one commit, on a branch called `trunk`."""
    made = place(root, elsewhere, rng)
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (
        ("init", "-q", "-b", "trunk"),
        (*author, "commit", "-q", "--allow-empty", "-m", made.sentence),
    ):
        subprocess.run(["git", *words], cwd=made.folder, check=True, capture_output=True)
    return made


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(3)) + rng.choice(string.ascii_lowercase)
