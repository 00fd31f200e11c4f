"""Tasks that a plan gives to tools: their resources, their cost, and their effect on the report."""

from dataclasses import dataclass, field
from typing import Any

from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TableInfo, TablesRequest
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.errors import RequestRejected
from tests.conftest import Serving
from tests.roles.invalid_actions import build_action
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    in_turn,
    plans,
    says,
    search,
    story,
)
from tests.workflows.research.test_effort_with_model import OUTLINE
from tests.workflows.test_structured import GOOD, RESULT, SALES

QUERY = build_action("sql", question="What was sold?", statement=GOOD["sql"])
END = build_action("finish", answer="Twelve loaves [1].", confidence=0.9)


@dataclass
class Sales(MemoryKnowledge):
    """A knowledge base with one table, whose rows only a query of it finds."""

    queries: list[QueryRequest] = field(default_factory=list)

    def list_tables(self, request: TablesRequest) -> tuple[TableInfo, ...]:
        return (SALES,)

    def query(self, request: QueryRequest) -> QueryReply:
        self.queries.append(request)
        self.documents["result"] = RESULT
        (passage,) = (one for one in self._passages() if one.source == "result")
        ref = PassageRef(chunk=passage.chunk, source=passage.source, score=1.0, relevance=0.9)
        return QueryReply(passages=(ref,), columns=("sold",), row_count=1)


def build_request(**limits: Any) -> RunRequest:
    """Return a request with a model, whose plan of the second cycle is that of the model."""
    bounds = RunLimits(min_relevance=0.05, has_model=True, effort="moderate")
    return RunRequest(
        question="How are bread and cheese made?", corpora=("kitchen",), limits=bounds.model_copy(update=limits)
    )


async def test_what_a_table_knows_is_asked_with_tools(serving: Serving) -> None:
    """The planner reads which tables there are, its task queries one, and the writer reads the result."""
    task = search("How many loaves were sold in Rome?", strategy="react")
    chat = ScriptedChat(story(planner=in_turn(plans(task), FINISH), react=in_turn(QUERY, END)))
    knowledge = Sales(dict(KITCHEN))
    async with serving(chat, knowledge) as stage:
        run = await stage.start(build_request(strategy="direct"))
        result = await run.result()
        state = await run.query("state")

    prompts = {role: prompt for role, prompt in reversed(chat.asked)}
    assert "- table sales: sold\n" in prompts["planner"] and "- react: step by step with tools" in prompts["planner"]
    assert [query.sql for query in knowledge.queries] == [GOOD["sql"]]
    assert RESULT.text in prompts["report_writer"]
    assert [[step["tool"] for step in record["steps"]] for record in state["tasks"]] == [["sql", "finish"]]
    assert result.usage.model_calls <= 10


async def test_tasks_with_tools_share_the_calls_of_an_effort(serving: Serving) -> None:
    """A task that never ends makes four calls; the next one searches without tools, and the run says so."""
    tasks = (search(f"How many loaves were sold in {town}?", strategy="react") for town in ("Rome", "Paris"))
    endless = in_turn(*(build_action("hybrid_search", query=f"bread {n}") for n in range(9)))
    outline = says({"topics": OUTLINE[:2]})
    chat = ScriptedChat(story(outliner=outline, planner=in_turn(plans(*tasks), FINISH), react=endless))
    async with serving(chat, Sales(dict(KITCHEN))) as stage:
        result = await (await stage.start(build_request())).result()

    assert chat.count("react") == 4
    note = "“How many loaves were sold in Paris?” was searched without tools: their share of the effort is used up."
    assert note in result.notes
    assert result.usage.model_calls <= 10


async def test_a_task_with_tools_that_fails_keeps_its_steps(serving: Serving) -> None:
    """A model that refuses after a call fails the task; its steps and their passages stay."""
    task = search("How many loaves were sold in Rome?", strategy="react")
    steps = iter((QUERY,))

    async def refuse(prompt: str) -> Reply:
        for step in steps:
            return step
        raise RequestRejected("out of order")

    chat = ScriptedChat(story(planner=in_turn(plans(task), FINISH), react=refuse))
    async with serving(chat, Sales(dict(KITCHEN))) as stage:
        run = await stage.start(build_request(strategy="direct"))
        result = await run.result()
        state = await run.query("state")

    (record,) = state["tasks"]
    assert ([step["tool"] for step in record["steps"]], record["status"]) == (["sql"], "failed")
    assert "The search for “How many loaves were sold in Rome?” failed: out of order" in result.notes
    assert RESULT.text in next(prompt for role, prompt in chat.asked if role == "report_writer")
