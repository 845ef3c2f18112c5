"""Commands run in this process, as tests see them."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Printed(NamedTuple):
    code: int
    out: str
    err: str

    def data(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Printed]
