"""Run a person's own SQL over the tables of corpora and databases."""

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.evidence.tables import QueryReply, QueryRequest, SqlRequest


@workflow.defn
class SqlWorkflow:
    """Workflow that runs one SELECT."""

    @workflow.run
    async def run(self, request: SqlRequest) -> QueryReply:
        """Read new and changed files, then run the query; its rows are returned and not stored."""
        for ingest in request.ingest:
            await execute_activity(KnowledgeActivities.ingest_corpus, ingest, summary=f"read corpus {ingest.corpus}")
        query = QueryRequest(
            sql=request.sql, corpora=request.corpora, databases=request.databases, keep=False, return_rows=True
        )
        return await execute_activity(KnowledgeActivities.query_tables, query, summary=request.sql)
