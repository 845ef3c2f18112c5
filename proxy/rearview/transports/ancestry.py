"""Which process is the client: the nearest ancestor that is not a launcher."""

import os
from pathlib import Path

LAUNCHERS = frozenset(
    [
        *("sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "busybox", "env", "timeout", "nice", "nohup", "setsid"),
        *("npx", "npm", "pnpm", "yarn", "bunx", "uv", "uvx", "pipx", "sudo", "tini", "dumb-init", "mcp-rearview"),
    ]
)
DEPTH_LIMIT = 16


def client_process() -> str:
    """Return `pid-starttime` of the client process; without /proc, the parent's id and nothing more."""
    pid = os.getppid()
    key = f"{pid}-0"
    for _ in range(DEPTH_LIMIT):
        found = _look(pid)
        if found is None:
            return key
        name, parent, started = found
        key = f"{pid}-{started}"
        if parent <= 1 or not _is_launcher(pid, name):
            return key
        pid = parent
    return key


def _look(pid: int) -> tuple[str, int, str] | None:
    """Return name, parent and start time (clock ticks since boot) of a process; proc_pid_stat(5)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return head.partition("(")[2], int(fields[1]), fields[19]


def _is_launcher(pid: int, name: str) -> bool:
    if name in LAUNCHERS:
        return True
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    # npx is a script: the process is called node, or carries a title such as "npm exec".
    program = words[1] if len(words) > 1 and name.startswith(("node", "python")) else words[0]
    first = program.decode(errors="replace").rpartition("/")[2].split(" ")[0]
    return first.removesuffix(".js").removesuffix("-cli") in LAUNCHERS
