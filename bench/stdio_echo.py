"""The measured server: answers `tools/call` of `echo` with the text it got, padded to `reply` bytes."""

import json
import os
import sys


def main() -> None:
    """Answer until standard input ends."""
    pending = b""
    while data := os.read(0, 65536):
        *lines, pending = (pending + data).split(b"\n")
        answers = [answer for line in lines if (answer := reply(json.loads(line)))]
        view = memoryview(b"".join(answers))
        while view:
            view = view[os.write(1, view) :]


def reply(body: dict) -> bytes:
    """Return the line that answers one message; nothing for a notification."""
    if "id" not in body:
        return b""
    if body["method"] == "tools/call":
        arguments = body["params"]["arguments"]
        text = arguments.get("text")
        if text is None:
            said = {"content": [{"type": "text", "text": "text: Field required"}], "isError": True}
            return json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": said}).encode() + b"\n"
        result = {"content": [{"type": "text", "text": text + "." * (arguments.get("reply", 0) - len(text))}]}
    elif body["method"] == "tools/list":
        properties = {"text": {"type": "string"}, "reply": {"type": "integer"}}
        result = {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": properties}}]}
    else:
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "echo", "version": "1"}}
    return json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": result}).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main())
