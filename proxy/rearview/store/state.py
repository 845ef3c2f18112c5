"""The state folder: where everything that Rearview remembers lives, and who may read it."""

import fcntl
import os
import stat
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rearview.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

STATE_VERSION = 1
KEY_BYTES = 32
_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
# Non-blocking: a pipe in the place of a file would stop whoever opens it.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class StateFolder:
    """The paths of one state folder; `open_state` makes sure that they can be used."""

    __slots__ = ("journal", "key", "ledger", "lessons", "lock", "problems", "root")

    def __init__(self, root: Path) -> None:
        self.root = root
        self.journal = root / "journal"
        self.lessons = root / "lessons.rvt"
        self.ledger = root / "ledger.sqlite3"
        self.key = root / "digest.key"
        self.lock = root / "learner.lock"
        self.problems = root / "relay-problems.jsonl"


def state_root(environ: Mapping[str, str]) -> Path:
    """Return the folder that `environ` asks for: REARVIEW_STATE_DIR, XDG_STATE_HOME, or ~/.local/state.

    As the XDG specification has it, a relative XDG_STATE_HOME is ignored.

    Raises:
        StoreError: there is no such home.
    """
    asked = environ.get("REARVIEW_STATE_DIR", "")
    if asked:
        try:
            return Path(asked).expanduser().absolute()
        except RuntimeError as error:
            message = f"REARVIEW_STATE_DIR names {asked}, the home of nobody: write the whole path"
            raise StoreError(message) from error
    base = environ.get("XDG_STATE_HOME", "")
    if base and os.path.isabs(base):  # noqa: PTH117 - a string comes in, and Path would accept ""
        return Path(base) / "rearview"
    home = environ.get("HOME", "")
    return (Path(home) if home else Path.home()) / ".local" / "state" / "rearview"


def open_state(root: Path) -> StateFolder:
    """Create the folder where it is missing, tighten its mode, and check its owner and its version.

    Raises:
        StoreError: it can't be created or used, belongs to somebody else, or a newer Rearview wrote it.
    """
    state = StateFolder(root)
    _refuse_foreign(state)
    for folder in (state.root, state.journal):
        try:
            _private_folder(folder, may_be_link=folder is state.root)
        except (FileExistsError, NotADirectoryError) as error:
            message = (
                f"the state folder {folder} can't be made, because a file is in its place or on the way to it: "
                "move that file away, or name another folder with --state or in REARVIEW_STATE_DIR"
            )
            raise StoreError(message) from error
        except OSError as error:
            message = (
                f"the state folder {folder} can't be used ({error.strerror}): make it writable for this user, "
                "or name another one with --state or in REARVIEW_STATE_DIR"
            )
            raise StoreError(message) from error
    try:
        _check_version(state.root / "version")
    except OSError as error:
        message = f"the state folder {root} can't be read or written ({error.strerror}): check its owner and free space"
        raise StoreError(message) from error
    return state


def digest_key(state: StateFolder) -> bytes:
    """Return the 32 secret bytes that all relays of this folder share; the first one to ask makes them.

    A file that is too short (a crash, a full disk) is replaced: digests made with a lost key match nothing any more,
    which costs the exact matches and nothing else.

    Raises:
        StoreError: the file can be neither read nor created.
    """
    try:
        key = _read(state.key)
        if len(key) < KEY_BYTES:
            with _locked(state.root / "digest.key.lock"):
                key = _read(state.key)
                if len(key) < KEY_BYTES:
                    key = os.urandom(KEY_BYTES)
                    replace_file(state.key, key)
    except OSError as error:
        message = (
            f"the key file {state.key} can't be used ({error.strerror}): "
            "check that it is a plain file of this user, or delete it"
        )
        raise StoreError(message) from error
    return key[:KEY_BYTES]


def replace_file(path: Path, content: bytes) -> None:
    """Put `content` at `path`, mode 0600: a reader sees the old file or the new one, whole, also after a crash."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, _FILE_MODE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _refuse_foreign(state: StateFolder) -> None:
    """Leave a folder alone that holds something else: to make /tmp or a home private would break it for others."""
    try:
        names = {path.name for path in state.root.iterdir()}
    except OSError:
        # Not there yet, or what the next step says of it.
        return
    if names and names.isdisjoint({"version", state.journal.name, state.ledger.name, state.key.name}):
        message = f"{state.root} holds other things than our state: name a folder of its own in REARVIEW_STATE_DIR"
        raise StoreError(message)


def _private_folder(folder: Path, *, may_be_link: bool) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
    here = folder.lstat()
    me = os.geteuid()
    if stat.S_ISLNK(here.st_mode):
        # A link that this user made to another disk is fine; one that anybody else planted is not.
        if not may_be_link or here.st_uid != me:
            message = f"the state folder {folder} is a symbolic link: replace it by a folder of this user"
            raise StoreError(message)
        here = folder.stat()
    # Root may work in a folder that a container or another user owns.
    if here.st_uid != me != 0:
        message = (
            f"the state folder {folder} belongs to user id {here.st_uid}, not to {me}: "
            "change its owner, or name another folder in REARVIEW_STATE_DIR"
        )
        raise StoreError(message)
    if stat.S_IMODE(here.st_mode) != _FOLDER_MODE:
        folder.chmod(_FOLDER_MODE)


def _check_version(path: Path) -> None:
    digits = _read(path).split(b".")[0].strip()
    found = int(digits) if digits.isdigit() else 0
    if found > STATE_VERSION:
        message = (
            f"the state folder {path.parent} holds the state of a newer version (state {found}, this one knows "
            f"{STATE_VERSION}): upgrade mcp-rearview, or name another folder in REARVIEW_STATE_DIR"
        )
        raise StoreError(message)
    if not found:
        replace_file(path, f"{STATE_VERSION}\n".encode())


def _read(path: Path) -> bytes:
    """Return what the file holds (nothing if it is missing), and take away what others may do with it."""
    try:
        handle = os.open(path, _READ)
    except FileNotFoundError:
        return b""
    try:
        if stat.S_IMODE(os.fstat(handle).st_mode) & 0o077:
            os.fchmod(handle, _FILE_MODE)
        return os.read(handle, 4096)
    finally:
        os.close(handle)


@contextmanager
def _locked(path: Path) -> "Iterator[None]":
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _FILE_MODE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
