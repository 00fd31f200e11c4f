"""The same calls in a LangGraph graph with SQLite checkpoints, in an environment that has LangGraph.

The graph has one node, which posts a request and is called again until no request is left. Each line of the standard
input is a JSON list of requests, and each line of the standard output a JSON list of the milliseconds of each call.
"""

import argparse
import json
import sqlite3
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.calls.answers import read_answer


class State(TypedDict, total=False):
    """State of the graph, with the content of the last call."""

    number: int
    request: dict[str, Any]
    answer: str


def build_graph(http: httpx.Client, requests: list[dict[str, Any]], began: list[float]) -> Any:
    """Return the graph before it is compiled; each call appends the time of its begin to `began`."""

    def post(state: State) -> State:
        began.append(time.perf_counter())
        number = state["number"]
        response = http.post("/chat/completions", json=requests[number])
        response.raise_for_status()
        return {"number": number + 1, "request": requests[number], "answer": read_answer(response.text)}

    graph = StateGraph(State)
    graph.add_node("post", post)
    graph.add_edge(START, "post")
    graph.add_conditional_edges("post", lambda state: END if state["number"] == len(requests) else "post")
    return graph


def main() -> None:
    """Serve the lines of the standard input."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls.run_langgraph", description=__doc__)
    parser.add_argument("base_url", help="URL of the model server")
    parser.add_argument("checkpoints", type=Path, help="file of the checkpoints")
    arguments = parser.parse_args()
    with (
        sqlite3.connect(arguments.checkpoints, check_same_thread=False) as connection,
        httpx.Client(base_url=arguments.base_url) as http,
    ):
        saver = SqliteSaver(connection)
        for thread, line in enumerate(sys.stdin):
            requests: list[dict[str, Any]] = json.loads(line)
            began: list[float] = []
            graph = build_graph(http, requests, began).compile(checkpointer=saver)
            config: Any = {"configurable": {"thread_id": str(thread)}, "recursion_limit": len(requests) + 1}
            graph.invoke({"number": 0}, config, durability="sync")
            moments = [*began, time.perf_counter()]
            times = [(later - earlier) * 1000 for earlier, later in pairwise(moments)]
            print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
