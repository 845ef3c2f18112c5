"""What all tests share: properties with fixed seeds, and how much of them is tried."""

from hypothesis import settings

# `pytest --hypothesis-profile=thorough` tries more, and other values each time.
settings.register_profile("default", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("default")
