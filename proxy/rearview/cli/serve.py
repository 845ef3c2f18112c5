"""`serve`: the relay as an HTTP server, before another HTTP server or before a command."""

import argparse
import asyncio
import gc
import sys
from urllib.parse import urlsplit

from rearview.cli.context import Context
from rearview.cli.naming import server_name
from rearview.cli.options import refuse
from rearview.cli.wrap import GARBAGE_THRESHOLD, SWITCH_SECONDS

SUMMARY = "relay HTTP clients to an MCP server"
EXAMPLES = """\
  mcp-rearview serve --listen 127.0.0.1:8080 --upstream https://example.com/mcp
  mcp-rearview serve --listen 0.0.0.0:8080 --allow-host tools.internal --upstream http://localhost:9000/mcp
  mcp-rearview serve --listen 127.0.0.1:8080 -- npx -y @modelcontextprotocol/server-filesystem /home/me/notes
"""


def fill(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:8080", help="where clients connect")
    parser.add_argument("--upstream", metavar="URL", default="", help="the server's own address")
    parser.add_argument(
        "--name", default="", help="the server's name; without it, it is taken from its address or command"
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME[:PORT]",
        action="append",
        default=[],
        help="a name that clients call us by, besides those of the loopback interface; may be repeated",
    )
    parser.add_argument(
        "--max-clients",
        metavar="N",
        type=int,
        default=64,
        help="how many copies of COMMAND may run at once; clients beyond that are told to come back (default: 64)",
    )
    parser.add_argument(
        "server",
        metavar="COMMAND",
        nargs="*",
        help="behind --: a server on standard input and output, started for each client, in place of --upstream",
    )


def run(_context: Context, options: argparse.Namespace) -> int:
    """Serve until a signal."""
    host, _, port = options.listen.rpartition(":")
    if not host or not port.isdigit():
        refuse(f"--listen wants HOST:PORT, for instance 127.0.0.1:8080, not {options.listen!r}")
    if bool(options.upstream) == bool(options.server):
        refuse("serve wants the server: either --upstream URL, or its command after --")
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)
    asyncio.run(_serve(options, host.strip("[]"), int(port)))
    return 0


async def _serve(options: argparse.Namespace, host: str, port: int) -> None:
    from rearview.app import relay_for
    from rearview.log import report
    from rearview.transports.guard import Guard
    from rearview.transports.http_front import Front

    upstream = options.upstream
    name = options.name or (urlsplit(upstream).hostname or "server" if upstream else server_name(options.server))
    relay = relay_for(name, str(options.config or ""), options.server, str(options.state or ""))

    def ready(host: str, port: int) -> None:
        report("serve.ready", {"listen": f"http://{host}:{port}/mcp", "upstream": upstream or options.server[0]})

    guard = Guard(options.allow_host)
    try:
        if upstream:
            from rearview.transports.http_client import Origin
            from rearview.transports.http_relay import HttpRelay

            await Front(HttpRelay(Origin(upstream), guard, relay.parts, report)).run(host, port, ready)
        else:
            from rearview.transports.http_to_stdio import HttpToStdio

            front = HttpToStdio(options.server, guard, relay.parts, report, options.max_clients)
            try:
                await Front(front, on_ending=front.hang_up).run(host, port, ready)
            finally:
                await front.end()
    finally:
        relay.close()
