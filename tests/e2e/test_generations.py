"""A tool with an output schema is held, and its failures are hinted at, without the official client objecting."""

import random
import sys
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from e2e.agent import Agent, Answer, Desk, Server
from e2e.conftest import SEED
from e2e.remedy import follow

SERVER = Server("calendar", (sys.executable, str(Path(__file__).parent.parent / "fixtures" / "sdk_server.py")))
GENERATIONS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
PASSED = (False, True)


class Turn(NamedTuple):
    """A call that is known to fail, as the official client read the answer to it, and what came of the advice."""

    version: str
    output_schema: Mapping[str, Any] | None
    result: dict[str, Any]
    corrected: Answer
    repeated: Answer

    @property
    def text(self) -> str:
        said: str = self.result["content"][0]["text"]
        return said


class Days:
    """Calls that no task had before, as the tool refuses them and as it takes them."""

    def __init__(self) -> None:
        self._rng = random.Random(SEED)
        self._day = date(2026, 1, 1)
        self._key = self._rng.choice(["day", "start", "from", "when"])

    def next(self) -> tuple[dict[str, Any], dict[str, Any]]:
        self._day += timedelta(self._rng.randrange(2, 70))
        days = self._rng.randrange(1, 9)
        return {self._key: self._day.isoformat(), "days": days}, {"date": self._day.isoformat(), "days": days}


async def first_task(desk: Desk, days: Days) -> None:
    wrong, right = days.next()
    async with desk.session() as agent:
        assert (await agent.call("due", wrong)).failed
        assert not (await agent.call("due", right)).failed


async def next_task(desk: Desk, mode: str, days: Days) -> Turn:
    wrong, right = days.next()
    async with desk.session(mode) as agent:
        schemas = {tool.name: tool.output_schema for tool in (await agent.client.list_tools()).tools}
        result = await result_of(agent, wrong)
        corrected = await agent.call("due", follow(result["content"][0]["text"], wrong, right))
        repeated = await agent.call("due", wrong)
        return Turn(agent.client.protocol_version, schemas["due"], result, corrected, repeated)


async def result_of(agent: Agent, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result as the official client read it, without the `_meta`."""
    result = await agent.client.call_tool("due", arguments)
    body: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_unset=True)
    body.pop("_meta", None)
    return body


async def played(desk: Desk) -> tuple[dict[str, Turn], dict[str, Turn]]:
    days = Days()
    await first_task(desk, days)
    desk.run("learn", "--once")
    # One task is not enough to hold a call, so both generations get a hint; two more are.
    hinted = {mode: await next_task(desk, mode, days) for mode in GENERATIONS}
    desk.run("learn", "--once")
    return hinted, {mode: await next_task(desk, mode, days) for mode in GENERATIONS}


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Turn], dict[str, Turn]]:
    return anyio.run(played, Desk(tmp_path_factory.mktemp("calendar"), SERVER))


def failure_of(mode: str, text: str) -> dict[str, Any]:
    generation = {} if mode == "legacy" else {"resultType": "complete"}
    return {"content": [{"type": "text", "text": text}], "isError": True, **generation}


@pytest.mark.parametrize("mode", GENERATIONS)
def test_a_failure_of_a_tool_with_an_output_schema_gets_a_hint(
    mode: str, turns: tuple[dict[str, Turn], dict[str, Turn]]
) -> None:
    turn = turns[0][mode]

    error, _, hint = turn.text.partition("Rearview note:")
    assert (turn.version, turn.output_schema is None) == (GENERATIONS[mode], False)
    assert turn.result == failure_of(mode, turn.text)
    assert error.startswith("Error executing tool due: 1 validation error")
    assert hint
    assert (turn.corrected.failed, turn.corrected.reached) == PASSED, turn


@pytest.mark.parametrize("mode", GENERATIONS)
def test_a_tool_with_an_output_schema_is_held(mode: str, turns: tuple[dict[str, Turn], dict[str, Turn]]) -> None:
    turn = turns[1][mode]

    assert (turn.version, turn.output_schema is None) == (GENERATIONS[mode], False)
    assert turn.result == failure_of(mode, turn.text)
    assert turn.text.startswith("Held by Rearview, nothing was run")
    assert (turn.corrected.failed, turn.corrected.reached) == PASSED, turn
    assert (turn.repeated.failed, turn.repeated.reached) == (True, True), turn
