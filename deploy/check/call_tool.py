"""Calls one tool over streamable HTTP, as a client does, and prints the text of the answer. Standard library only.

    call_tool.py [--host NAME] URL TOOL ARGUMENTS     ARGUMENTS is a JSON object, NAME what to send as `Host`

The exit code is 0 if the tool answered well, 1 if it answered with an error, 3 if the request was refused with 4xx.
"""

import argparse
import http.client
import json
import sys
from typing import Any
from urllib.parse import urlsplit

VERSION = "2025-06-18"
TIMEOUT_SECONDS = 60
REFUSED = 3


class Session:
    """One conversation with one server; a connection for each message."""

    def __init__(self, url: str, host: str) -> None:
        self._url = urlsplit(url)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if host:
            self._headers["Host"] = host

    def open(self) -> None:
        """Greet the server, and remember what it calls this session."""
        hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
        self.ask("initialize", hello)
        self._headers["MCP-Protocol-Version"] = VERSION
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one request."""
        for message in self._send({"jsonrpc": "2.0", "id": method, "method": method, "params": params}):
            if message.get("id") == method and "method" not in message:
                return message
        sys.exit(f"no answer to {method}")

    def _send(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=TIMEOUT_SECONDS)
        connection.request("POST", self._url.path, json.dumps(message), self._headers)
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        if response.status >= http.client.BAD_REQUEST:
            sys.stderr.write(f"{message['method']}: {response.status} {body[:200]}\n")
            sys.exit(REFUSED if response.status < http.client.INTERNAL_SERVER_ERROR else 2)
        if session := response.getheader("Mcp-Session-Id"):
            self._headers["Mcp-Session-Id"] = session
        if response.getheader("Content-Type", "").startswith("text/event-stream"):
            return [json.loads(line[5:]) for line in body.splitlines() if line.startswith("data:") and line[5:].strip()]
        return [json.loads(body)] if body.strip() else []


def main() -> int:
    """Call the tool that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="")
    parser.add_argument("url")
    parser.add_argument("tool")
    parser.add_argument("arguments", type=json.loads)
    options = parser.parse_args()
    session = Session(options.url, options.host)
    session.open()
    answer = session.ask("tools/call", {"name": options.tool, "arguments": options.arguments})
    result = answer.get("result", {})
    told = [block.get("text", "") for block in result.get("content", ())] or [json.dumps(answer.get("error"))]
    sys.stdout.write("\n".join(told) + "\n")
    return 1 if result.get("isError") or "error" in answer else 0


if __name__ == "__main__":
    sys.exit(main())
