"""How commands print: JSON for programs, aligned text for pipes, rich tables for people at a terminal."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

GAP = "  "
UNBROKEN_CHARS = 14
NARROWEST_CHARS = 20
MINUTE, HOUR, DAY = 60, 3600, 86_400


class Output(NamedTuple):
    """Where and how to print. Whatever was read from a server is stripped of what a terminal would obey."""

    as_json: bool = False
    plain: bool = False

    @property
    def fancy(self) -> bool:
        """Whether a person looks at a terminal that can do more than text."""
        return not self.plain and not self.as_json and sys.stdout.isatty()

    def data(self, value: Mapping[str, Any] | Sequence[Any]) -> None:
        """Print one JSON document."""
        print(_printable(json.dumps(value, indent=2, ensure_ascii=False)))

    def record(self, value: Mapping[str, Any]) -> None:
        """Print one JSON document on one line, for what goes on and on."""
        print(_printable(json.dumps(value, ensure_ascii=False)), flush=True)

    def done(self, facts: Mapping[str, Any], words: str) -> None:
        """Say what was done, in the form that is wanted."""
        if self.as_json:
            self.data(facts)
        else:
            self.line(words)

    def line(self, text: str = "", style: str = "") -> None:
        """Print one paragraph; `style` is rich's and shows on a terminal only."""
        if self.fancy:
            _console().print(safe(text), style=style or None, markup=False, highlight=False)
        else:
            print(safe(text), flush=True)

    def panel(self, title: str, text: str) -> None:
        """Print a text that should not be missed."""
        if self.fancy:
            from rich.panel import Panel
            from rich.text import Text

            _console().print(Panel(Text(safe(text)), title=title, border_style="yellow", expand=False))
        else:
            print(f"{title}:")
            for line in safe(text).splitlines():
                print(f"  | {line}", flush=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
        """Print rows under their names, numbers to the right."""
        cells = [[safe(str(cell)) for cell in row] for row in rows]
        if self.fancy:
            _fancy_table(columns, cells, title)
        else:
            _plain_table(columns, cells, title)


def safe(text: str) -> str:
    """The text without control characters, so that no server can move the cursor or change colours."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def one_line(text: str, limit: int) -> str:
    """The text on one line, cut to `limit` characters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"


def counted(number: int, thing: str) -> str:
    """The number with its noun, in the plural where it is not one."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def when(at: float, now: float) -> str:
    """How long ago, in the largest unit that says enough."""
    if not at:
        return "never"
    age = max(0.0, now - at)
    if age < MINUTE:
        return f"{age:.0f} s ago"
    if age < HOUR:
        return f"{age / MINUTE:.0f} min ago"
    if age < 2 * DAY:
        return f"{age / HOUR:.0f} h ago"
    return f"{age / DAY:.0f} d ago"


def clock(at: float) -> str:
    """Local date and time; a question mark for a time that no calendar has."""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "?"


def _printable(text: str) -> str:
    """Half an emoji in an argument can't be printed as it is."""
    return text.encode("utf-8", "backslashreplace").decode()


def _console() -> "Console":
    from rich.console import Console

    return Console(file=sys.stdout)


def _fancy_table(columns: Sequence[str], cells: Sequence[Sequence[str]], title: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left")
    for index, name in enumerate(columns):
        column = [row[index] for row in cells]
        short = max(map(len, column), default=0) <= UNBROKEN_CHARS
        table.add_column(name, justify="right" if _numbers(column) else "left", overflow="fold", no_wrap=short)
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    _console().print(table)


def _plain_table(columns: Sequence[str], cells: Sequence[Sequence[str]], title: str) -> None:
    if title:
        print(title)
    flat = [[" ".join(cell.split()) for cell in row] for row in cells]
    widths = [max(len(name), *(len(row[index]) for row in flat), 0) for index, name in enumerate(columns)]
    for row in [list(columns), *flat]:
        line = GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        print(_fitted(line, sum(widths[:-1]) + len(GAP) * (len(widths) - 1)))


def _fitted(line: str, indent: int) -> str:
    """A row as a terminal shows it best: its last column goes on below itself. For a pipe a row stays one line."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    if len(line) <= width or width - indent < NARROWEST_CHARS:
        return line
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def _numbers(cells: Iterable[str]) -> bool:
    return all(cell.replace(".", "", 1).replace("-", "", 1).isdigit() for cell in cells)
