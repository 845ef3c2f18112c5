"""Real servers, installed once, and values that are new in every run."""

import json
import os
import random
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from e2e.agent import Server

SERVERS = Path(__file__).parent.parent / "servers"
FILESYSTEM = SERVERS / "node_modules" / "@modelcontextprotocol" / "server-filesystem"
INSTALL_SECONDS = 100
SEED = int(os.environ.get("REARVIEW_TEST_SEED") or random.SystemRandom().randrange(10**9))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _seed_is_told() -> None:
    # pytest shows it with a test that fails.
    print(f"to run with the same values again: REARVIEW_TEST_SEED={SEED}")  # noqa: T201


@pytest.fixture(scope="session")
def filesystem() -> tuple[str, ...]:
    """The command of npm's `@modelcontextprotocol/server-filesystem`, without its folder."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("npm is not installed, and the filesystem server comes from npm")
    wanted = json.loads((SERVERS / "package.json").read_text())["dependencies"][
        "@modelcontextprotocol/server-filesystem"
    ]
    package = FILESYSTEM / "package.json"
    if not package.exists() or json.loads(package.read_text())["version"] != wanted:
        subprocess.run([npm, "ci", "--prefix", str(SERVERS), "--loglevel=error"], check=True, timeout=INSTALL_SECONDS)
    return (node, str(FILESYSTEM / "dist" / "index.js"))


@pytest.fixture(scope="session")
def git() -> tuple[str, ...]:
    """The command of PyPI's `mcp-server-git`."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed, and its server needs it")
    assert find_spec("mcp_server_git"), "mcp-server-git is in the development dependencies: install them"
    return (sys.executable, "-m", "mcp_server_git")


@pytest.fixture(scope="session")
def filesystem_server(filesystem: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Server:
    return Server("files", (*filesystem, str(tmp_path_factory.mktemp("root"))))


@pytest.fixture(scope="session")
def git_server(git: tuple[str, ...]) -> Server:
    return Server("git", git)
