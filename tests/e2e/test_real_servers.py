"""The product's promise on two real servers: what failed in three tasks is held in the fourth, with a way out."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from e2e import good_calls, mistakes
from e2e.agent import Agent, Answer, Desk, Server, until
from e2e.conftest import SEED
from e2e.mistakes import Habit, Mistake, Place
from e2e.remedy import follow

TASKS = 3
EVERYTHING_IN_ONE_TASK = "budget_per_task = 20"
PASSED = (False, True)
FAILED_AT_THE_SERVER = (True, True)


@dataclass(frozen=True, slots=True)
class Story:
    """Where an agent works, what it gets wrong there, and how to make a new place for its next task."""

    desk: Desk
    habit: Habit
    make: Callable[[], Place]
    made: Sequence[Mistake]


@dataclass(frozen=True, slots=True)
class Fourth:
    """How one mistake went in the fourth task."""

    good_before: Answer
    held: Answer
    untouched: bool
    corrected: Answer | None
    good_between: Answer
    repeated: Answer
    good_after: Answer
    unrelated: Answer


def files_in(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def fate(answer: Answer | None) -> tuple[bool, bool] | None:
    return answer and (answer.failed, answer.reached)


async def clumsy(agent: Agent, story: Story) -> None:
    """Go through a task as an agent does that does not read warnings: it makes the call, and mends it afterwards."""
    at = story.make()
    for mistake in story.made:
        wrong = await agent.insist(mistake.tool, mistake.wrong(at, story.habit))
        assert fate(wrong) == FAILED_AT_THE_SERVER, (mistake, wrong)
        right = await agent.insist(mistake.tool, mistake.right(at))
        assert fate(right) == PASSED, (mistake, right)


async def fourth_task(agent: Agent, story: Story, mistake: Mistake, unrelated: tuple[str, Mapping[str, Any]]) -> Fourth:
    at = story.make()
    wrong, right = mistake.wrong(at, story.habit), mistake.right(at)
    good_before = await agent.call(mistake.tool, mistake.right(story.make()))
    before = files_in(at.folder)
    held = await agent.call(mistake.tool, wrong)
    return Fourth(
        good_before=good_before,
        held=held,
        untouched=files_in(at.folder) == before,
        corrected=await agent.call(mistake.tool, follow(held.text, wrong, right)) if held.held else None,
        good_between=await agent.call(mistake.tool, mistake.right(story.make())),
        repeated=await agent.call(mistake.tool, wrong),
        good_after=await agent.call(mistake.tool, mistake.right(story.make())),
        unrelated=await agent.call(*unrelated),
    )


async def sessions(story: Story) -> None:
    for _ in range(TASKS):
        async with story.desk.session() as agent:
            await clumsy(agent, story)


@dataclass(frozen=True, slots=True)
class Played:
    """How the fourth task went, by mistake, and how good calls in other forms did after it."""

    mistakes: dict[str, Fourth]
    good: list[Answer]


async def played(
    story: Story, unrelated: Callable[[], tuple[str, Mapping[str, Any]]], good: Callable[[Place], good_calls.Calls]
) -> Played:
    await sessions(story)
    story.desk.run("learn", "--once")
    async with story.desk.session() as agent:
        return Played(
            {each.name: await fourth_task(agent, story, each, unrelated()) for each in story.made},
            [await agent.call(tool, arguments) for tool, arguments in good(story.make())],
        )


def told(fourth: Fourth, mistake: Mistake) -> None:
    """Check everything that is promised about one mistake in the fourth task."""
    assert fourth.held.held, (mistake.name, fourth.held)
    assert fourth.untouched
    assert fate(fourth.corrected) == PASSED, (fourth.held.text, fourth.corrected)
    assert fate(fourth.repeated) == FAILED_AT_THE_SERVER, fourth.repeated
    others = (fourth.good_before, fourth.good_between, fourth.good_after, fourth.unrelated)
    assert [fate(each) for each in others] == [PASSED] * 4, others


def files_story(folder: Path, server: Server, made: Sequence[Mistake], **options: Any) -> Story:
    rng = random.Random(SEED)
    root, elsewhere = Path(server.command[-1]), folder / "elsewhere"
    # The root is shared: the folder keeps the places of two stories with the same words apart.
    inside = root / folder.name
    desk = Desk(folder, server, **options)
    return Story(desk, mistakes.habit(rng), lambda: mistakes.place(inside, elsewhere, rng), made)


@pytest.fixture(scope="module")
def files(filesystem_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Played:
    story = files_story(
        tmp_path_factory.mktemp("files"), filesystem_server, mistakes.FILESYSTEM, warn=EVERYTHING_IN_ONE_TASK
    )
    root = filesystem_server.command[-1]
    return anyio.run(
        played, story, lambda: ("list_allowed_directories", {}), lambda at: good_calls.filesystem(at, root)
    )


@pytest.fixture(scope="module")
def repositories(git_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Played:
    rng = random.Random(SEED)
    folder = tmp_path_factory.mktemp("git")
    code, elsewhere = folder / "code", folder / "elsewhere"
    desk = Desk(folder, git_server, warn=EVERYTHING_IN_ONE_TASK)
    story = Story(desk, mistakes.habit(rng), lambda: mistakes.repository(code, elsewhere, rng), mistakes.GIT)

    def unrelated() -> tuple[str, Mapping[str, Any]]:
        return "git_show", {"repo_path": str(story.make().folder), "revision": "HEAD"}

    return anyio.run(played, story, unrelated, good_calls.git)


@pytest.mark.parametrize("mistake", mistakes.FILESYSTEM, ids=str)
def test_the_filesystem_server_does_not_get_a_known_mistake_a_fourth_time(mistake: Mistake, files: Played) -> None:
    told(files.mistakes[mistake.name], mistake)


@pytest.mark.parametrize("mistake", mistakes.GIT, ids=str)
def test_the_git_server_does_not_get_a_known_mistake_a_fourth_time(mistake: Mistake, repositories: Played) -> None:
    told(repositories.mistakes[mistake.name], mistake)


def test_good_calls_in_forms_that_are_new_to_the_learner_all_pass(files: Played, repositories: Played) -> None:
    answers = [*files.good, *repositories.good]

    assert [each for each in answers if fate(each) != PASSED] == []


@pytest.mark.anyio
async def test_what_the_background_learner_has_learned_is_said_in_the_fourth_task(
    filesystem_server: Server, tmp_path: Path
) -> None:
    missing = next(each for each in mistakes.FILESYSTEM if each.name == "missing argument")
    # With two, the third task would be warned already, and whether in time is left to the machine.
    story = files_story(tmp_path, filesystem_server, [missing], learner=True, warn="hold_min_trajectories = 3")
    await sessions(story)
    await until(lambda: not learners_of(story.desk), "the learner has done its work and left")

    async with story.desk.session() as agent:
        fourth = await fourth_task(agent, story, missing, ("list_allowed_directories", {}))

    told(fourth, missing)
    await until(lambda: not learners_of(story.desk), "the last learner has left")


@pytest.mark.anyio
async def test_tasks_of_one_session_are_told_apart_by_the_idle_gap_between_them(
    filesystem_server: Server, tmp_path: Path
) -> None:
    text = next(each for each in mistakes.FILESYSTEM if each.name == "text in place of a list")
    story = files_story(tmp_path, filesystem_server, [text], idle_gap_s=1.0)

    async with story.desk.session() as agent:
        for number in range(1, TASKS + 1):
            await clumsy(agent, story)
            await until(lambda wanted=number: learned_tasks(story.desk) >= wanted, "the task has been idle for long")
        lesson = next(each for each in story.desk.lessons() if each["key"].startswith("schema:type:paths"))
        fourth = await fourth_task(agent, story, text, ("list_allowed_directories", {}))

    assert (lesson["failed"], lesson["met"], lesson["loud"]) == (3, 3, True)
    told(fourth, text)


def learners_of(desk: Desk) -> list[str]:
    """The background processes that work on a state folder, by their number."""
    state = str(desk.folder / "state").encode()
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        # A process may end while we look.
        with suppress(OSError):
            if state in process.read_bytes():
                found.append(process.parent.name)
    return found


def learned_tasks(desk: Desk) -> int:
    return int(desk.run("status")["learned"]["tasks"])
