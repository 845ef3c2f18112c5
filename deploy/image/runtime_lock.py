"""Prints the part of the lock file that the relay runs on, hashes and all; what only tests need stays out.

    python deploy/image/runtime_lock.py pyproject.toml requirements.lock > runtime.lock

The lock holds the development environment as well and does not say who needs whom. pip is asked what it would install
for the project's own dependencies at exactly the locked versions; nothing is installed by that.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

PINNED = re.compile(r"^([A-Za-z0-9._-]+)==")


def main(project: Path, lock: Path) -> None:
    """Print the pins that the dependencies of `project` need."""
    pins = pins_of(lock.read_text("utf-8"))
    dependencies = tomllib.loads(project.read_text("utf-8"))["project"]["dependencies"]
    needed = needed_by(dependencies, pins)
    unlocked = sorted(needed - pins.keys())
    if unlocked:
        sys.exit(f"{lock} does not pin {', '.join(unlocked)}: write it anew")
    sys.stdout.write("".join(pins[name] for name in sorted(needed)))


def pins_of(lock: str) -> dict[str, str]:
    """Return the entry of each package, with its hashes, by its normalised name."""
    pins: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if found := PINNED.match(line):
            name = normalised(found.group(1))
            pins[name] = ""
        if name:
            pins[name] += line
    return pins


def needed_by(dependencies: list[str], pins: dict[str, str]) -> set[str]:
    """Return the normalised names of all that pip would install for `dependencies` here."""
    # Without hashes: a constraint that has one would ask for the hash of everything, before it is known what that is.
    versions = "".join(f"{entry.splitlines()[0].rstrip(chr(92)).rstrip()}\n" for entry in pins.values())
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder, "constraints.txt")
        constraints.write_text(versions, "utf-8")
        done = subprocess.run(
            [
                sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
                "--only-binary=:all:", "--report=-", f"--constraint={constraints}", *dependencies,
            ],
            stdout=subprocess.PIPE,
            check=True,
        )  # fmt: skip
    return {normalised(each["metadata"]["name"]) for each in json.loads(done.stdout)["install"]}


def normalised(name: str) -> str:
    """Return a package's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
