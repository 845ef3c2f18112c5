"""Who may import whom, and what a relay's start must not import."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = {
    "mcp_rearview": ROOT / "proxy" / "mcp_rearview",
    "rearview": ROOT / "proxy" / "rearview",
    "rearview_interceptors": ROOT / "interceptors" / "rearview_interceptors",
}
OURS = tuple(SOURCES)

API = ("rearview_interceptors",)
BASICS = ("rearview.errors", "rearview.config")

# What each part may import of ours. The longest prefix of a module's name decides.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "mcp_rearview": ("mcp_rearview", "rearview.cli.main"),
    "rearview_interceptors": ("rearview_interceptors",),
    "rearview.errors": (),
    "rearview.log": (),
    "rearview.config": ("rearview.config", "rearview.config_file", "rearview.config_project", "rearview.errors"),
    "rearview.core": ("rearview.core", "rearview.errors", *API),
    "rearview.learn": ("rearview.learn", "rearview.errors", *API),
    "rearview.transports": ("rearview.transports", "rearview.core", "rearview.log", "rearview.errors", *API),
    "rearview.store": ("rearview.store", "rearview.core", "rearview.learn", "rearview.log", *BASICS, *API),
    "rearview.demo": ("rearview.demo", "rearview.errors"),
    "rearview.intake": ("rearview.store", "rearview.learn", "rearview.log", *BASICS),
    "rearview.lesson_making": ("rearview.store", "rearview.learn", "rearview.log", *BASICS, *API),
    "rearview.learning": (
        "rearview.intake",
        "rearview.lesson_making",
        "rearview.store",
        "rearview.learn",
        "rearview.log",
        *BASICS,
        *API,
    ),
    "rearview.learner": (
        "rearview.intake",
        "rearview.learning",
        "rearview.store",
        "rearview.learn",
        "rearview.log",
        *BASICS,
    ),
    "rearview.recorder": ("rearview.store", "rearview.log", *BASICS, *API),
    "rearview.voice": ("rearview.core", "rearview.learn", "rearview.log", *API),
    "rearview.app": OURS,
    "rearview.cli": OURS,
}
# Third parties, and who alone may import them.
THIRD_PARTIES = {
    "orjson": (
        "rearview.core",
        "rearview.learn",
        "rearview.store",
        "rearview.transports",
        "rearview.app",
        "rearview.recorder",
    ),
    "httptools": ("rearview.transports.http",),
    "sqlalchemy": (
        "rearview.store.ledger",
        "rearview.store.migrations",
        "rearview.intake",
        "rearview.learning",
        "rearview.lesson_making",
    ),
    "structlog": ("rearview.log", "rearview.learner", "rearview.cli"),
    "rich": ("rearview.cli",),
}
PURE = ("rearview.core", "rearview.learn")
IMPURE_MODULES = {
    "asyncio", "http", "logging", "multiprocessing", "os", "pathlib", "select", "selectors", "shutil", "signal",
    "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "urllib",
}  # fmt: skip
HEAVY = {
    "argparse", "asyncio", "concurrent", "httptools", "httpx", "logging", "mcp", "numpy", "pydantic", "qdrant_client",
    "qdrant_edge", "rich", "sqlalchemy", "starlette", "structlog", "subprocess", "tomllib",
}  # fmt: skip


def modules() -> Iterator[tuple[str, Path]]:
    for package, folder in SOURCES.items():
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            yield ".".join((package, *(part for part in parts if part != "__init__"))), file


def imports_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: say the whole name of what you import"
            # `from rearview import learner` names a module, `from rearview.learner import catch_up` a thing in one.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(module: str, prefixes: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith((f"{prefix}.", f"{prefix}_")) for prefix in prefixes)


def rule_of(module: str) -> tuple[str, ...]:
    fitting = [prefix for prefix in MAY_IMPORT if within(module, (prefix,))]
    assert fitting, f"{module} has no rule: say in tests/test_imports.py what it may import"
    return MAY_IMPORT[max(fitting, key=len)]


@pytest.mark.parametrize(("module", "file"), [pytest.param(*each, id=each[0]) for each in modules()])
def test_a_module_imports_only_what_its_part_may(module: str, file: Path) -> None:
    forbidden = []
    for name in imports_of(file):
        top = name.partition(".")[0]
        if top in OURS:
            allowed = module in OURS or within(name, rule_of(module))
        elif top in sys.stdlib_module_names:
            allowed = not (within(module, PURE) and top in IMPURE_MODULES)
        else:
            allowed = within(module, THIRD_PARTIES.get(top, ()))
        if not allowed:
            forbidden.append(name)

    assert forbidden == []


@pytest.mark.parametrize("module", ["rearview.cli.wrap", "rearview.app", "rearview.cli.main"])
def test_the_start_of_a_relay_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"

    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)

    assert HEAVY & set(done.stdout.split()) == set()
