"""Test tables in a run: queried once, repaired when a query fails, and known to the writer."""

from dataclasses import dataclass, field

from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.tables import ColumnInfo, QueryReply, QueryRequest, TableInfo, TablesRequest
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, Source, in_turn, says, story

pytestmark = slow

RESULT = Source(
    uri="kitchen/sales.csv#sql=1", title="Sold", text="Sold by town: the bread sold in Rome is twelve loaves."
)
SALES = TableInfo(name="sales", columns=(ColumnInfo(name="sold", kind="number"),))
GOOD, BAD = {"sql": "SELECT sold FROM sales", "shows": "Sold"}, {"sql": "SELECT salt FROM sales", "shows": "Salt"}


@dataclass
class Tabular(MemoryKnowledge):
    """A knowledge base with one table, in which only one query works; its result belongs to no corpus document."""

    queries: list[QueryRequest] = field(default_factory=list)

    def list_tables(self, request: TablesRequest) -> tuple[TableInfo, ...]:
        return (SALES,)

    def query(self, request: QueryRequest) -> QueryReply:
        self.queries.append(request)
        if request.sql != GOOD["sql"]:
            return QueryReply(problem="there is no column salt")
        (passage,) = (p for p in self._passages() if p.source == "result")
        ref = PassageRef(chunk=passage.chunk, source=passage.source, score=1.0, relevance=0.9)
        return QueryReply(passages=(ref,), columns=("sold",), row_count=1)


def world() -> Tabular:
    return Tabular({**KITCHEN, "result": RESULT})


def asked() -> RunRequest:
    bounds = RunLimits(min_relevance=0.05, max_report_revisions=1)
    return RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=bounds)


async def test_failed_query_is_corrected(serving: Serving) -> None:
    """The role receives the failed query and its error; the result of the next query reaches the writer."""
    chat = ScriptedChat(story(sql_writer=in_turn({"queries": [BAD]}, {"queries": [GOOD]})))
    knowledge = world()
    async with serving(chat, knowledge) as stage:
        result = await (await stage.start(asked())).result()

    first, again = [prompt for role, prompt in chat.asked if role == "sql_writer"]
    assert "there is no column salt" in again and "there is no column salt" not in first
    assert [query.sql for query in knowledge.queries] == [BAD["sql"], GOOD["sql"]]
    assert result.status == "done"
    writing = [prompt for role, prompt in chat.asked if role == "report_writer"]
    assert writing and all(RESULT.text in prompt for prompt in writing)


async def test_repeatedly_failing_queries_are_abandoned(serving: Serving) -> None:
    """After two corrections the run continues without the tables."""
    chat = ScriptedChat(story(sql_writer=says({"queries": [BAD]})))
    knowledge = world()
    async with serving(chat, knowledge) as stage:
        result = await (await stage.start(asked())).result()

    assert (len(knowledge.queries), result.status) == (3, "done")


async def test_no_query_is_written_without_tables(serving: Serving) -> None:
    """A run over texts alone makes no call for queries."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        await (await stage.start(asked())).result()

    assert chat.count("sql_writer") == 0
