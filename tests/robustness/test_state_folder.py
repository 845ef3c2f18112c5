"""A state folder that can't be used: the relay relays, says one clear line, and `status` explains."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from surroundings import MODULE, Surroundings, call_line, direct_answers, reports, started, talk

from wrapped import eventually

ROOT_ONLY = pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0,
    reason="mounting wants privileges",
)


def private(mounts: str, program: Sequence[str] = MODULE) -> list[str]:
    """Run the program where these mounts are, and nobody else's."""
    return ["unshare", "-m", "sh", "-c", f'{mounts} && exec "$@"', "sh", *program]


def events(stderr: bytes | bytearray) -> list[str]:
    return [report["rearview"] for report in reports(stderr)]


def test_a_file_in_the_place_of_the_folder(around: Surroundings) -> None:
    around.state.write_text("not a folder")

    with around.relay() as relay:
        answers = talk(relay)

    assert answers == direct_answers()
    assert events(relay.stderr) == ["state.unusable"]
    assert str(around.state) in "".join(around.status()["problems"])
    assert around.state.read_text() == "not a folder"


@ROOT_ONLY
def test_a_folder_that_can_not_be_written(around: Surroundings) -> None:
    around.state.mkdir()
    read_only = private(f"mount --bind {around.state} {around.state} && mount -o remount,bind,ro {around.state}")

    with around.relay(program=[*read_only]) as relay:
        answers = talk(relay)
    status = around.command("status", "--json", program=read_only)

    assert answers == direct_answers()
    assert events(relay.stderr) == ["state.unusable"]
    assert str(around.state) in json.loads(status.stdout)["problems"][0]
    assert (status.returncode, status.stderr) == (1, "")


@ROOT_ONLY
def test_a_used_folder_that_has_become_read_only(around: Surroundings) -> None:
    with around.relay() as relay:
        talk(relay)
    assert around.command("learn", "--all").returncode == 0
    read_only = private(f"mount --bind {around.state} {around.state} && mount -o remount,bind,ro {around.state}")

    with around.relay(program=[*read_only]) as relay:
        answers = talk(relay)
    status = around.command("status", "--json", program=read_only)

    assert answers == direct_answers()
    assert (status.returncode, status.stderr) == (1, "")
    assert str(around.state) in "".join(json.loads(status.stdout)["problems"])


FILL = """
import os, sys
path = os.path.join(sys.argv[1], "filler")
try:
    with open(path, "wb", buffering=0) as file:
        while True:
            file.write(b"f" * 4096)
except OSError:
    pass
"""


@ROOT_ONLY
def test_a_disk_that_is_full_from_the_start(around: Surroundings) -> None:
    around.state.mkdir()
    fill = f"mount -t tmpfs -o size=64k,mode=700 full {around.state} && {sys.executable} -c '{FILL}' {around.state}"

    with around.relay(program=private(fill)) as relay:
        answers = talk(relay)

    assert answers == direct_answers()
    assert len(events(relay.stderr)) == 1
    assert "state" in events(relay.stderr)[0] or "journal" in events(relay.stderr)[0]


@ROOT_ONLY
def test_a_disk_that_fills_up_while_calls_are_made(around: Surroundings) -> None:
    around.state.mkdir()
    small = f"mount -t tmpfs -o size=256k,mode=700 full {around.state}"
    lines = [call_line(number, "echo", {"text": f"{number} " + "w " * 900}) for number in range(400)]

    with around.relay(program=private(small)) as relay:
        answers = []
        for line in lines:
            relay.send(line)
            answers.append(json.loads(relay.receive())["id"])

    assert answers == list(range(400))
    assert events(relay.stderr) == ["journal.unwritable"]
    assert "No space left" in reports(relay.stderr)[0]["error"]


@ROOT_ONLY
def test_status_and_learn_on_a_full_disk_explain_and_do_not_crash(around: Surroundings) -> None:
    with around.relay() as relay:
        talk(relay)
    copy = around.folder / "copy"
    around.state.rename(copy)
    around.state.mkdir()
    full = (
        f"mount -t tmpfs -o size=96k,mode=700 full {around.state} && cp -r {copy}/. {around.state}"
        f" && {sys.executable} -c '{FILL}' {around.state}"
    )

    status = around.command("status", "--json", program=private(full))
    learn = around.command("learn", "--all", program=private(full))

    assert (status.returncode, status.stderr.count("Traceback")) == (1, 0)
    assert str(around.state) in "".join(json.loads(status.stdout)["problems"])
    assert learn.returncode == 2
    assert len(learn.stderr.splitlines()) == 1


def garbage(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "random bytes": lambda path: path.write_bytes(garbage(5000, 1)),
    "nothing": lambda path: path.write_bytes(b""),
    "half of it": lambda path: os.truncate(path, path.stat().st_size // 2),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link to nowhere": lambda path: (path.unlink(), path.symlink_to("/nowhere/at/all")),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_every_file_of_the_folder_damaged_at_once(around: Surroundings, damage: str) -> None:
    with around.relay() as relay:
        talk(relay)
    assert around.command("learn", "--all").returncode == 0
    with around.relay() as relay:
        talk(relay)
    files = [path for path in around.state.rglob("*") if path.is_file()]
    assert len(files) > 5
    for path in files:
        DAMAGE[damage](path)

    with around.relay() as relay:
        answers = talk(relay)
    status = around.command("status", "--json")

    assert answers == direct_answers()
    assert len(events(relay.stderr)) <= 3, relay.stderr
    assert len(set(events(relay.stderr))) == len(events(relay.stderr))
    assert status.returncode == (0 if json.loads(status.stdout)["seen"] else 1)
    assert "Traceback" not in status.stderr


@pytest.mark.parametrize("name", ["ledger.sqlite3", "digest.key", "lessons.rvt", "version", "learner.lock", "journal"])
def test_one_file_after_the_other_damaged_and_the_rest_goes_on(around: Surroundings, name: str) -> None:
    with around.relay() as relay:
        talk(relay)
    assert around.command("learn", "--all").returncode == 0
    with around.relay() as relay:
        talk(relay)
    target = around.state / name
    for path in target.iterdir() if target.is_dir() else [target]:
        path.write_bytes(garbage(3000, 2))

    with around.relay() as relay:
        answers = talk(relay)
    around.command("learn", "--all")
    status = around.status()

    assert answers == direct_answers()
    assert status["seen"]["calls"] >= 14


def test_a_folder_of_a_newer_version_is_left_alone(around: Surroundings) -> None:
    around.state.mkdir()
    (around.state / "version").write_text("99\n")

    with around.relay() as relay:
        answers = talk(relay)
    status = around.status()

    assert answers == direct_answers()
    assert events(relay.stderr) == ["state.unusable"]
    assert "newer version" in reports(relay.stderr)[0]["reason"]
    assert "newer version" in status["problems"][0]
    assert [path.name for path in around.state.rglob("*") if path.is_file()] == ["version"]


def test_a_ledger_of_a_newer_version_is_left_alone(around: Surroundings) -> None:
    import sqlite3

    with around.relay() as relay:
        talk(relay)
    assert around.command("learn", "--all").returncode == 0
    with sqlite3.connect(around.state / "ledger.sqlite3") as ledger:
        ledger.execute("UPDATE schema_version SET version = 99")
    ledger.close()

    with around.relay() as relay:
        answers = talk(relay)
    learn, status = around.command("learn", "--all"), around.status()

    assert answers == direct_answers()
    assert (learn.returncode, len(learn.stderr.splitlines())) == (2, 1)
    assert "newer" in status["problems"][0]


def test_a_folder_that_holds_something_else_is_neither_used_nor_made_private(around: Surroundings) -> None:
    shared = around.folder / "shared"
    shared.mkdir(mode=0o755)
    (shared / "somebody's letter").write_text("dear")

    with around.relay(REARVIEW_STATE_DIR=str(shared)) as relay:
        answers = talk(relay)

    assert answers == direct_answers()
    assert events(relay.stderr) == ["state.unusable"]
    assert (shared.stat().st_mode & 0o777, [path.name for path in shared.iterdir()]) == (0o755, ["somebody's letter"])


def test_a_folder_that_is_deleted_while_a_relay_works(around: Surroundings) -> None:
    import shutil

    with around.relay() as relay:
        relay.hello()
        assert relay.text("echo", {"text": "a"}) == "a"
        assert eventually(lambda: len(list(around.state.glob("journal/*"))) == 1)
        shutil.rmtree(around.state)
        assert [relay.text("echo", {"text": str(number)}) for number in range(50)] == [str(n) for n in range(50)]

    assert len(set(events(relay.stderr))) == len(events(relay.stderr)) <= 2


def test_an_interrupted_status_leaves_nothing_locked(around: Surroundings) -> None:
    with around.relay() as relay:
        talk(relay)
    with started([*MODULE, "learn"], around.environment()) as learner:
        assert eventually((around.state / "learner.lock").exists)
        learner.process.kill()

    assert around.status()["problems"] == []
