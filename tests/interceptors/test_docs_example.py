"""The example of docs/interceptors.md runs as it stands there."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

from rearview_interceptors.api import Call, Grade, Hold, Reply, Said
from rearview_interceptors.chain import Chain

PAGE = Path(__file__).parent.parent.parent / "docs" / "interceptors.md"


def example() -> Any:
    source = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0]
    module = ModuleType("nights")
    exec(compile(source, str(PAGE), "exec"), module.__dict__)  # noqa: S102 - our own page is what is tested
    return module


def call(tool: str) -> Call:
    return Call(1, "ops", tool, {}, b"digest", 0.0, "task", modern=False, meta={})


def test_the_example_holds_a_deploy_at_night_and_nothing_else() -> None:
    night, day = example().QuietNights(hour=lambda: 3), example().QuietNights(hour=lambda: 14)

    verdicts = [night.on_request(call("deploy")), night.on_request(call("status")), day.on_request(call("deploy"))]

    assert [type(verdict) for verdict in verdicts] == [Hold, type(None), type(None)]
    assert verdicts[0].lesson.loud


def test_the_factory_of_the_example_works_in_a_chain_without_a_complaint() -> None:
    complaints: list[str] = []
    interceptor = example().make()
    chain = Chain([interceptor], clock=lambda: 0.0, report=lambda event, fields: complaints.append(event))

    chain.on_request(call("status"))
    chain.on_finished(call("status"), Reply(Grade.OK, None, "fine", 4, 0.1), Said("silent", "x"))

    assert (interceptor.seen, complaints) == (1, [])
