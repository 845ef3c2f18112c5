"""What to call a server that nobody gave a name: the package, module, script or image behind its launcher."""

from collections.abc import Sequence

CONTAINER_TOOLS = frozenset({"docker", "podman", "nerdctl"})
LAUNCHERS = CONTAINER_TOOLS | {
    "npx", "npm", "bunx", "uvx", "uv", "pipx", "pnpm", "yarn", "node", "python", "python3",
}  # fmt: skip
_VERBS = frozenset({"run", "exec", "x", "dlx", "tool", "start", "mcp"})
_CONTAINER_VERBS = _VERBS | {"container", "create"}
# All other options of `docker run` take a value, and nobody can list them for ever.
_WITHOUT_VALUE = frozenset({
    "rm", "init", "interactive", "tty", "detach", "privileged", "read-only", "publish-all", "no-healthcheck",
    "oom-kill-disable", "sig-proxy", "quiet", "disable-content-trust", "use-api-socket", "debug", "tls", "tlsverify",
    "replace", "no-hosts", "env-host", "rmi", "help",
})  # fmt: skip
_LETTERS_WITHOUT_VALUE = frozenset("itdPqD")


def server_name(command: Sequence[str]) -> str:
    """Return a name for the server from its command; never what a setting in it says."""
    words = [word for word in command if word]
    first = words[0].rpartition("/")[2]
    launcher = first.rstrip("0123456789.")
    if launcher in CONTAINER_TOOLS and (image := _image(words[1:])):
        return image
    if launcher in LAUNCHERS and len(words) > 1:
        # What has an equals sign is a setting, and often a secret: docker run -e API_KEY=...
        rest = [word for word in words[1:] if word[0] != "-" and word not in _VERBS and "=" not in word]
        first = rest[0] if rest else first
    for mark in "?#= \n":
        first = first.partition(mark)[0]
    first = first.rstrip("/").rsplit("/", 1)[-1]
    base = first.rpartition("@")[0] or first
    return base.removesuffix(".py").removesuffix(".js").removesuffix(".exe") or "server"


def _image(words: Sequence[str]) -> str:
    """Return the image, or the container, without its registry, tag and digest; empty where there is none."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in _CONTAINER_VERBS:
            continue
        if word[0] != "-":
            return word.partition("@")[0].rstrip("/").rsplit("/", 1)[-1].partition(":")[0]
        if _takes_next(word) and rest:
            rest.pop(0)
    return ""


def _takes_next(option: str) -> bool:
    """Whether the value of an option is the next word: not so behind an equals sign, and not in `-v/a:/b`."""
    if option.startswith("--"):
        return "=" not in option and option != "--" and option[2:] not in _WITHOUT_VALUE
    letters = option[1:].lstrip("".join(_LETTERS_WITHOUT_VALUE))
    return len(letters) == 1
