"""`mcp-rearview wrap --url`: a client on standard input and output, and a server that speaks HTTP."""

import asyncio
import gc
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

from rearview.app import Relay, blind_relay, relay_for
from rearview.cli.wrap import GARBAGE_THRESHOLD, SWITCH_SECONDS, USAGE_ERROR, Options
from rearview.core.meeting import Parts
from rearview.core.session import Session
from rearview.errors import ConfigError, PeerError
from rearview.log import report
from rearview.transports.http_client import Origin
from rearview.transports.http_heads import Headers
from rearview.transports.http_upstream_stdio import StdioToHttp

_FIELD = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\0]*)")
# What these say is decided with each request.
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept", "accept-encoding"})


def relay_to(options: Options, *, disabled: bool) -> int:
    """Relay to the server at the URL until the client has gone; the exit code is 0 then."""
    try:
        origin, headers = _origin(options.url), own_headers(options.headers, options.header_file)
    except (ConfigError, PeerError) as error:
        sys.stderr.write(f"mcp-rearview wrap: {error}\n")
        return USAGE_ERROR
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)
    loaded: list[Relay] = []

    def load() -> Parts:
        name = options.name or origin.host or "server"
        loaded.append(blind_relay(name, ()) if disabled else relay_for(name, options.config, (), options.state))
        return loaded[0].parts()

    try:
        asyncio.run(StdioToHttp(origin, headers, Session(load), report).run())
    finally:
        for relay in loaded:
            relay.close()
    return 0


def _origin(url: str) -> Origin:
    try:
        parts = urlsplit(url)
        has_name = bool(parts.username or parts.password)
        _ = parts.port
    except ValueError as error:
        message = f"--url is no address: {error}"
        raise ConfigError(message) from error
    if has_name:
        message = "--url must not hold a name or a password; give them in a file, with --header-file"
        raise ConfigError(message)
    return Origin(url)


def own_headers(fields: tuple[str, ...], file: str) -> Headers:
    """Return the user's fields for every request. No message ever quotes a value: they are secrets.

    Raises:
        ConfigError: a field is not written as one, or the file can't be read.
    """
    found = [_field(text, "--header") for text in fields]
    if file:
        try:
            lines = Path(file).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            message = f"can't read --header-file {file}: {why}"
            raise ConfigError(message) from error
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                found.append(_field(line.strip(), f"{file}, line {number},"))
    return found


def _field(text: str, place: str) -> tuple[bytes, bytes]:
    match = _FIELD.fullmatch(text)
    if match is None:
        message = f"{place} wants 'NAME: VALUE'"
        raise ConfigError(message)
    name, value = match[1].lower(), match[2].strip()
    if name in _OURS or name.startswith("mcp-"):
        message = f"{place} can't set {name}: it is different for each request"
        raise ConfigError(message)
    return name.encode(), value.encode("utf-8")
