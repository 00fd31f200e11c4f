"""A plain LangGraph graph with SQLite checkpoints: plan, answer each question from passages, write.

It is written as the documentation of LangGraph builds graphs: a node for each step, a checkpointer, a thread. A killed
process continues when the graph is invoked without input on the same thread.
"""

import sqlite3
from typing import Any, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field

from benchmarks.peers.starters.task import MODEL, PassageIndex, Task, read_task

_THREAD: Any = {"configurable": {"thread_id": "report"}}


class Plan(BaseModel):
    """Questions to research."""

    queries: list[str] = Field(description="Three questions whose answers together answer the given one.")


class State(TypedDict, total=False):
    """State of the graph."""

    question: str
    queries: list[str]
    notes: list[str]
    sources: list[str]
    report: str


def build_graph(task: Task) -> Any:
    """Return the graph before it is compiled."""
    model = ChatOpenAI(model=MODEL)
    index = PassageIndex(task.documents)

    def plan(state: State) -> State:
        answer = model.with_structured_output(Plan).invoke(f"Plan the research for a report on: {state['question']}")
        return {"queries": answer.queries, "notes": [], "sources": []}

    def research(state: State) -> State:
        query = state["queries"][len(state["notes"])]
        found = index.search(query, 5)
        passages = "\n\n".join(f"Source: {passage.path.name}\n{passage.text}" for passage in found)
        answer = model.invoke(f"Answer from the sources, and cite them.\n\nQuestion: {query}\n\n{passages}")
        sources = dict.fromkeys([*state["sources"], *(passage.path.name for passage in found)])
        return {"notes": [*state["notes"], answer.content], "sources": list(sources)}

    def write(state: State) -> State:
        notes = "\n\n".join(state["notes"])
        answer = model.invoke(f"Write a report that answers: {state['question']}\n\nNotes:\n\n{notes}")
        sources = "\n".join(f"- {source}" for source in state["sources"])
        return {"report": f"# {state['question']}\n\n{answer.content}\n\n## Sources\n\n{sources}\n"}

    graph = StateGraph(State)
    graph.add_node("plan", plan)
    graph.add_node("research", research)
    graph.add_node("write", write)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "research")
    graph.add_conditional_edges(
        "research", lambda state: "write" if len(state["notes"]) >= len(state["queries"]) else "research"
    )
    graph.add_edge("write", END)
    return graph


def main() -> None:
    """Answer the question of the command line."""
    task = read_task()
    with sqlite3.connect(task.folder / "checkpoints.sqlite", check_same_thread=False) as connection:
        graph = build_graph(task).compile(checkpointer=SqliteSaver(connection))
        state = graph.invoke(None if task.resume else {"question": task.question}, _THREAD, durability="sync")
    task.save(state["report"])


if __name__ == "__main__":
    main()
