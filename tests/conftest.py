"""What all tests share: properties with fixed seeds, and how much of them is tried."""

import pytest
from hypothesis import settings

# `pytest --hypothesis-profile=thorough` tries more, and other values each time.
settings.register_profile("default", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("default")

FIRST = ("robustness", "e2e")
"""These wait for processes and clocks: begun last, they would keep one worker busy when the others are done."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=lambda item: not any(part in FIRST for part in item.path.parts))
