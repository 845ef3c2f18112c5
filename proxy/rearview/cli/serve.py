"""`serve`: the relay as an HTTP server, before another HTTP server."""

import argparse
import asyncio
import gc
import sys
from urllib.parse import urlsplit

from rearview.cli.context import Context
from rearview.cli.options import refuse
from rearview.cli.wrap import GARBAGE_THRESHOLD, SWITCH_SECONDS

SUMMARY = "relay HTTP clients to an MCP server"
EXAMPLES = """\
  mcp-rearview serve --listen 127.0.0.1:8080 --upstream https://example.com/mcp
  mcp-rearview serve --listen 0.0.0.0:8080 --allow-host tools.internal --upstream http://localhost:9000/mcp
"""


def fill(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:8080", help="where clients connect")
    parser.add_argument("--upstream", metavar="URL", required=True, help="the server's own address")
    parser.add_argument("--name", default="", help="the server's name; without it, the host of its address")
    parser.add_argument(
        "--allow-host",
        metavar="NAME[:PORT]",
        action="append",
        default=[],
        help="a name that clients call us by, besides those of the loopback interface; may be repeated",
    )


def run(_context: Context, options: argparse.Namespace) -> int:
    """Serve until a signal."""
    host, _, port = options.listen.rpartition(":")
    if not host or not port.isdigit():
        refuse(f"--listen wants HOST:PORT, for instance 127.0.0.1:8080, not {options.listen!r}")
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)
    asyncio.run(_serve(options, host.strip("[]"), int(port)))
    return 0


async def _serve(options: argparse.Namespace, host: str, port: int) -> None:
    from rearview.app import relay_for
    from rearview.log import report
    from rearview.transports.guard import Guard
    from rearview.transports.http_client import Origin
    from rearview.transports.http_front import Front
    from rearview.transports.http_relay import HttpRelay

    origin = Origin(options.upstream)
    name = options.name or urlsplit(options.upstream).hostname or "server"
    relay = relay_for(name, str(options.config or ""), (), str(options.state or ""))

    def ready(host: str, port: int) -> None:
        report("serve.ready", {"listen": f"http://{host}:{port}/mcp", "upstream": origin.authority.decode()})

    try:
        await Front(HttpRelay(origin, Guard(options.allow_host), relay.parts, report)).run(host, port, ready)
    finally:
        relay.close()
