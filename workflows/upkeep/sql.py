"""SqlWorkflow: a person's own SQL over the tables of corpora and databases."""

from temporalio import workflow

from workflows.runtime.calls import ingest, query

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.evidence.tables import QueryReply, QueryRequest, SqlRequest


@workflow.defn
class SqlWorkflow:
    """Runs one SELECT."""

    @workflow.run
    async def run(self, request: SqlRequest) -> QueryReply:
        """Read what is new or changed, then run the query; its rows are returned and not kept."""
        for wanted in request.ingest:
            await ingest(wanted)
        asked = QueryRequest(
            sql=request.sql, corpora=request.corpora, databases=request.databases, keep=False, rows=True
        )
        return await query(asked, summary=request.sql)
