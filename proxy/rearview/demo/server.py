"""A small office as an MCP server on standard input and output: rooms to book, files to read, notes to write.

It behaves as a server of the Python SDK does, in both protocol generations, down to the words of its errors. Run it as
`python -m rearview.demo.server ROOT LOG`; every tool call that reaches it is written to LOG, one JSON line each.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from rearview.demo.office import Office, ToolError, UnknownTool

VERSION = "1.0.0"
LEGACY_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN_VERSION = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
PARSE_ERROR = -32700


def answer(office: Office, message: Mapping[str, Any]) -> dict[str, Any] | None:
    """The reply to one message, or `None` for a notification."""
    if "id" not in message:
        return None
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    params = message.get("params") or {}
    modern = params.get("_meta", {}).get(VERSION_KEY) == MODERN_VERSION
    try:
        result = _result(office, message.get("method"), params)
    except UnknownTool as error:
        return {**reply, "error": {"code": INVALID_PARAMS, "message": f"Unknown tool: {error}"}}
    except LookupError:
        return {**reply, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
    return {**reply, "result": {**result, "resultType": "complete"} if modern else result}


def _result(office: Office, method: object, params: Mapping[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            wanted = params.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in LEGACY_VERSIONS else LEGACY_VERSIONS[0],
                "capabilities": {"tools": {"listChanged": False}},
                "serverInfo": {"name": "office", "version": VERSION},
            }
        case "server/discover":
            return {
                "supportedVersions": [MODERN_VERSION],
                "capabilities": {"tools": {"listChanged": False}},
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {SERVER_KEY: {"name": "office", "version": VERSION}},
            }
        case "tools/list":
            return {"tools": office.tools()}
        case "tools/call":
            return _call(office, str(params.get("name")), params.get("arguments") or {})
        case "ping":
            return {}
        case _:
            raise LookupError(method)


def _call(office: Office, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        text = office.call(tool, arguments)
    except ToolError as error:
        return {"content": [{"type": "text", "text": f"Error executing tool {tool}: {error}"}], "isError": True}
    return {"content": [{"type": "text", "text": text}], "isError": False}


def serve(root: Path, log: Path, source: TextIO, sink: TextIO) -> None:
    """Answer line by line until the client closes its end."""
    with log.open("a", encoding="utf-8") as seen:

        def note(tool: str, arguments: Mapping[str, Any]) -> None:
            seen.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")
            seen.flush()

        office = Office(root, note)
        for line in source:
            try:
                reply = answer(office, json.loads(line))
            except ValueError:
                reply = {"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": "Parse error"}}
            if reply is not None:
                sink.write(json.dumps(reply) + "\n")
                sink.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]), sys.stdin, sys.stdout)
