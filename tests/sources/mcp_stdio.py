"""MCP server over standard streams for tests; its argument makes it misbehave.

It is written without a library, so that it starts immediately.
"""

import json
import os
import sys
import time
from typing import Any

PAGES = [{"url": "https://a.org/rye", "title": "Rye", "snippet": "A grass."}]
QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["query"],
}
TOOLS = [
    {"name": "search", "description": "Search pages.", "inputSchema": QUERY},
    {"name": "told", "description": "Say what the environment holds.", "inputSchema": {"type": "object"}},
    {"name": "broken", "description": "Fail.", "inputSchema": {"type": "object"}},
    {"name": "astray", "description": "", "inputSchema": {"type": "object", "$ref": "http://127.0.0.1:9/schema"}},
    {"name": "forbidden", "description": "Never to be called.", "inputSchema": {"type": "object"}},
]
RESOURCES = [{"uri": "docs://manual", "name": "manual"}, {"uri": "secret://key", "name": "key"}]


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a tool."""
    if name == "search":
        return said(json.dumps({"asked": arguments, "results": PAGES}))
    if name == "told":
        return said(json.dumps(sorted(os.environ)))
    return said("the tool is\nout of order", isError=True)


def misbehave(how: str) -> None:
    """Misbehave in the given way."""
    if how == "hang":
        time.sleep(600)
    if how == "crash":
        os._exit(3)
    if how == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    if how == "lie":
        print("I am no server.", flush=True)
        sys.exit()


def result(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or None for an unknown method."""
    parameters = request.get("params", {})
    match request["method"]:
        case "initialize":
            able: dict[str, dict[str, str]] = {"tools": {}, "resources": {}}
            who = {"name": "by hand", "version": "1"}
            return {"protocolVersion": parameters["protocolVersion"], "capabilities": able, "serverInfo": who}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            misbehave(sys.argv[1])
            return called(parameters["name"], parameters.get("arguments") or {})
        case "resources/list":
            return {"resources": RESOURCES}
        case "resources/read":
            part = {"uri": parameters["uri"]}
            return {"contents": [{**part, "text": "How to."}, {**part, "mimeType": "image/png", "blob": "aGk="}]}
        case _:
            return None


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        found = result(request)
        answer = {"error": {"code": -32601, "message": "no such method"}} if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)


if __name__ == "__main__":
    main()
