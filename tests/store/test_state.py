"""The state folder: who may use it, and what all relays share in it."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rearview.errors import StoreError
from rearview.store.state import KEY_BYTES, STATE_VERSION, digest_key, open_state, replace_file, state_root

_MAKE_KEY = """
import sys
from pathlib import Path
from rearview.store.state import digest_key, open_state
sys.stdin.read(1)
sys.stdout.write(digest_key(open_state(Path(sys.argv[1]))).hex())
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"REARVIEW_STATE_DIR": "/x/y", "XDG_STATE_HOME": "/s", "HOME": "/h"}, "/x/y"),
        ({"REARVIEW_STATE_DIR": "", "XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/rearview"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/rearview"),
        ({"HOME": "/h"}, "/h/.local/state/rearview"),
    ],
)
def test_the_state_folder_is_found_in_this_order(environ: dict[str, str], expected: str) -> None:
    assert state_root(environ) == Path(expected)


def test_folders_and_files_are_for_their_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        state = open_state(tmp_path / "a" / "state")
        digest_key(state)
    finally:
        os.umask(old)

    assert [mode(path) for path in (state.root, state.journal)] == [0o700, 0o700]
    assert {path.name: mode(path) for path in state.root.iterdir() if path.is_file()} == {
        "version": 0o600,
        "digest.key": 0o600,
        "digest.key.lock": 0o600,
    }


def test_a_folder_and_a_key_that_others_may_read_are_tightened(tmp_path: Path) -> None:
    state = open_state(tmp_path / "state")
    key = digest_key(state)
    state.root.chmod(0o755)
    state.key.chmod(0o644)

    assert digest_key(open_state(state.root)) == key
    assert (mode(state.root), mode(state.key)) == (0o700, 0o600)


@pytest.mark.parametrize("left", [b"", b"short", b"x" * (KEY_BYTES - 1)])
def test_a_truncated_key_is_replaced_and_the_new_one_stays(tmp_path: Path, left: bytes) -> None:
    state = open_state(tmp_path / "state")
    state.key.write_bytes(left)

    key = digest_key(state)

    assert len(key) == KEY_BYTES
    assert digest_key(state) == state.key.read_bytes() == key


@pytest.mark.parametrize("left", [None, b"truncated"])
def test_processes_that_start_at_once_share_one_key(tmp_path: Path, left: bytes | None) -> None:
    if left is not None:
        open_state(tmp_path / "state").key.write_bytes(left)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _MAKE_KEY, str(tmp_path / "state")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(8)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"g")
        process.stdin.flush()
    keys = {process.communicate(timeout=30)[0] for process in started}

    assert keys == {digest_key(open_state(tmp_path / "state")).hex().encode()}


def test_the_state_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    state = open_state(tmp_path / "state")
    version = state.root / "version"
    version.write_text(f"{STATE_VERSION + 1}\n")

    with pytest.raises(StoreError, match=r"newer version.*upgrade"):
        open_state(state.root)
    assert version.read_text() == f"{STATE_VERSION + 1}\n"


@pytest.mark.parametrize("left", [b"", b"\x00\x00", b"rubbish"])
def test_a_broken_version_file_is_written_anew(tmp_path: Path, left: bytes) -> None:
    state = open_state(tmp_path / "state")
    version = state.root / "version"
    version.write_bytes(left)

    open_state(state.root)

    assert version.read_bytes() == f"{STATE_VERSION}\n".encode()


def test_a_file_in_place_of_the_folder_is_an_error_that_says_where_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")

    with pytest.raises(StoreError, match=rf"{tmp_path}/state .*REARVIEW_STATE_DIR"):
        open_state(tmp_path / "state")


def test_a_link_of_this_user_may_stand_for_the_state_folder_but_not_for_the_journal(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "disk")
    state = open_state(tmp_path / "state")
    state.journal.rmdir()
    state.journal.symlink_to(tmp_path)

    with pytest.raises(StoreError, match="symbolic link"):
        open_state(state.root)


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 4242)

    with pytest.raises(StoreError, match="belongs to user id"):
        open_state(tmp_path / "state")


def test_a_key_that_is_a_link_is_refused(tmp_path: Path) -> None:
    state = open_state(tmp_path / "state")
    (tmp_path / "target").write_bytes(b"k" * KEY_BYTES)
    state.key.symlink_to(tmp_path / "target")

    with pytest.raises(StoreError, match=r"digest\.key can't be used"):
        digest_key(state)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"one")
    replace_file(path, b"two")

    assert [(each.name, each.read_bytes(), mode(each)) for each in tmp_path.iterdir()] == [("file", b"two", 0o600)]
