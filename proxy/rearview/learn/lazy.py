"""Regular expressions that are compiled when first used, because the relay must start in a blink."""

import re
from functools import cached_property


class Lazy:
    """A regular expression; `pattern` compiles it once."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self._source, self._flags)
