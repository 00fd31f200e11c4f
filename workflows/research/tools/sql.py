"""The tool `sql`: one query over the tables of documents and databases."""

from pydantic import Field

from tenure.contracts.evidence.tables import QueryRequest
from tenure.contracts.research.tools import Observation, ShortText, ToolArguments
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext


class SqlArguments(ToolArguments):
    """Arguments of `sql`."""

    question: ShortText
    """Question that the result answers, in words."""
    statement: str = Field(default="", max_length=4_000)
    """One SELECT over the tables that there are; empty to have it written from the question."""


async def query_tables(context: ToolContext, arguments: SqlArguments) -> Observation:
    """Run the given statement, or let the SQL writer write one for the question."""
    if not arguments.statement.strip():
        questions = context.create_table_questions(arguments.question)
        passages = await questions.query()
        if not passages and questions.unexpressed:
            return Observation(problem=f"no query was written: {questions.unexpressed}")
        return await context.observe_passages(passages, arguments.question, 1.0)
    task = context.task
    request = QueryRequest(
        sql=arguments.statement,
        corpora=task.corpora,
        databases=task.databases,
        title=arguments.question,
        question=task.question,
    )
    reply = await context.clients.knowledge.query(request, summary=arguments.question)
    if reply.problem:
        return Observation(problem=f"the query failed: {reply.problem}")
    return await context.observe_passages(reply.passages, arguments.question, 1.0)


TOOL = Tool(
    name="sql",
    description="Asks the tables of the documents and databases: counts, sums, averages, extremes, lists of rows.",
    arguments=SqlArguments,
    bounds="one SELECT; seconds, rows and memory as `TENURE_SQL_SECONDS`, `TENURE_SQL_ROWS` and "
    "`TENURE_SQL_MEMORY_MB` say; counts against the budget of searches",
    use=query_tables,
    requires="tables",
)
