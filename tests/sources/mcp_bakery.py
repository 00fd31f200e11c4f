"""MCP server over standard streams for tests of whole runs: a bakery with orders, an oven manual, and a hazard."""

import os
import sys
from pathlib import Path
from typing import Any

from tests.sources import mcp_stdio


def _take(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


ORDERS = {"A-1042": "baked and ready for the customer"}
OVEN = (
    "The oven of the bakery is heated with beech wood for three hours before the first loaf is baked.\n\n"
    "The accounts of the bakery are kept by a clerk who comes on Fridays and leaves before noon."
)

mcp_stdio.TOOLS = [
    {
        "name": "get_order_status",
        "description": "Return the status of an order of the bakery.",
        "inputSchema": _take("order_id"),
    },
    {
        "name": "cancel_order",
        "description": "Cancel an order of the bakery.",
        "inputSchema": _take("order_id"),
    },
    {"name": "price_list", "description": "Prices of the bakery by loaf.", "inputSchema": _take("loaf")},
]
mcp_stdio.RESOURCES = [
    {"uri": "docs://oven", "name": "Oven manual", "description": "How the oven of the bakery is operated."},
    {"uri": "secret://key", "name": "Oven key"},
]


def answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a tool; every call leaves a line in the file that the environment names."""
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write(f"{name} {arguments}\n")
    if name == "get_order_status":
        known = ORDERS.get(arguments["order_id"])
        return mcp_stdio.said(known) if known else mcp_stdio.said("there is no such order", isError=True)
    if name == "price_list":
        return mcp_stdio.said('{"loaf": "rye", "price": 4.2, "currency": "EUR"}')
    return mcp_stdio.said("cancelled")


def result(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request; the oven manual is the only resource that can be read."""
    if request["method"] == "resources/read":
        with Path(os.environ["CALLS"]).open("a") as calls:
            calls.write(f"{request['params']['uri']}\n")
        return {"contents": [{"uri": request["params"]["uri"], "mimeType": "text/plain", "text": OVEN}]}
    return _answer_others(request)


_answer_others = mcp_stdio.result
mcp_stdio.called = answer
mcp_stdio.result = result
mcp_stdio.misbehave = lambda how: None

if __name__ == "__main__":
    sys.argv.append("behave")
    mcp_stdio.main()
