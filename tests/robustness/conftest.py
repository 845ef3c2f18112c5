from collections.abc import Iterator
from pathlib import Path

import pytest
from surroundings import Surroundings


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than five seconds; deselect with -m 'not slow'")


@pytest.fixture
def around(tmp_path: Path) -> Iterator[Surroundings]:
    """A home, a state folder and a configuration of its own, and no process left in them afterwards."""
    surroundings = Surroundings(tmp_path)
    yield surroundings
    surroundings.end_learner()
