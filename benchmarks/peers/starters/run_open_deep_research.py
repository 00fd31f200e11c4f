"""Open Deep Research with local documents as the tool of an MCP server, which its documentation offers for own data.

The graph of the package is used as it is, so it has no checkpointer, and a killed process starts over.
"""

import asyncio
import os
import socket
import threading
import time
from contextlib import closing
from typing import Any

from mcp.server.fastmcp import FastMCP  # type: ignore[attr-defined]

from benchmarks.peers.starters.task import MODEL, PassageIndex, Task, read_task

_TOOL = "search_documents"


def serve_documents(task: Task) -> str:
    """Serve a search over the documents from a thread, and return the address of the server."""
    index = PassageIndex(task.documents)
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    server = FastMCP("documents", host="127.0.0.1", port=port, log_level="ERROR")

    @server.tool(name=_TOOL, description="Search the documents of the user.")  # type: ignore[untyped-decorator]
    def search_documents(query: str) -> str:
        found = index.search(query, 5)
        return "\n\n".join(
            f"--- SOURCE {n}: {passage.path.name} ---\nURL: {passage.path.name}\n\n{passage.text}"
            for n, passage in enumerate(found, 1)
        )

    threading.Thread(target=server.run, args=("streamable-http",), daemon=True).start()
    _wait_until_open(port)
    return f"http://127.0.0.1:{port}"


def _wait_until_open(port: int) -> None:
    for _ in range(200):
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the server of the documents does not start")


async def write_report(task: Task) -> str:
    """Research and write."""
    from open_deep_research.deep_researcher import deep_researcher_builder

    models = {
        name: f"openai:{MODEL}"
        for name in ("research_model", "compression_model", "final_report_model", "summarization_model")
    }
    settings: dict[str, Any] = {
        **models,
        "search_api": "none",
        "allow_clarification": False,
        "mcp_config": {"url": serve_documents(task), "tools": [_TOOL], "auth_required": False},
        "mcp_prompt": f"Use {_TOOL} to search the documents.",
    }
    graph = deep_researcher_builder.compile()
    state = await graph.ainvoke(
        {"messages": [{"role": "user", "content": task.question}]}, {"configurable": settings, "recursion_limit": 100}
    )
    return str(state["final_report"])


def main() -> None:
    """Answer the question of the command line."""
    os.environ.setdefault("GET_API_KEYS_FROM_CONFIG", "false")
    task = read_task()
    task.save(asyncio.run(write_report(task)))


if __name__ == "__main__":
    main()
