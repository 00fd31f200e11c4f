"""Execute commands of people on the knowledge base where it is."""

from typing import Any

from temporalio import workflow

from workflows.runtime.activity_options import RETRY_BRIEFLY, execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.evidence.corpora import CorpusReply, CorpusRequest, IngestReport, IngestRequest
    from tenure.contracts.evidence.tables import QueryReply, QueryRequest, SqlRequest
    from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest
    from tenure.contracts.knowledge.memory import MemoryReply, MemoryRequest


@workflow.defn
class IngestWorkflow:
    """Workflow that brings a corpus into the state of its files.

    The corpus can be searched as soon as everything is read; the workflow ends when all vectors are computed as well.
    """

    @workflow.run
    async def run(self, request: IngestRequest) -> IngestReport:
        """Read new and changed files, remove deleted ones, embed chunks without a vector."""
        report = await execute_activity(
            KnowledgeActivities.ingest_corpus, request, summary=f"read corpus {request.corpus}"
        )
        if not report.pending:
            return report
        embedded = await execute_activity(
            KnowledgeActivities.embed_corpus, request.corpus, summary=f"embed corpus {request.corpus}"
        )
        return report.model_copy(
            update={
                "pending": 0,
                "embedded": report.embedded + embedded.embedded,
                "seconds": report.seconds + embedded.seconds,
            }
        )


@workflow.defn
class CorpusWorkflow:
    """Workflow that lists, describes, searches or drops corpora."""

    @workflow.run
    async def run(self, request: CorpusRequest) -> CorpusReply:
        """Execute the request."""
        return await execute_activity(KnowledgeActivities.manage_corpora, request, summary=request.action)


@workflow.defn
class GraphWorkflow:
    """Workflow that looks up the relations of one entity."""

    @workflow.run
    async def run(self, request: RelatedRequest) -> RelatedReply:
        """Find the relations of the entity."""
        return await execute_activity(
            KnowledgeActivities.find_relations, request, summary=request.entity, retry_policy=RETRY_BRIEFLY
        )


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


@workflow.defn
class MemoryWorkflow:
    """Workflow that writes, lists, searches or forgets memories for a person."""

    @workflow.run
    async def run(self, request: MemoryRequest) -> MemoryReply:
        """Execute the parts of the request."""
        replies: dict[str, Any] = {}
        if request.write is not None:
            writing = execute_activity(KnowledgeActivities.write_memory, request.write, summary="write a memory")
            replies["written"] = await writing
        if request.forget is not None:
            forgetting = execute_activity(
                KnowledgeActivities.forget_memories, request.forget, summary="forget memories"
            )
            replies["forgotten"] = await forgetting
        if request.search is not None:
            replies["found"] = await execute_activity(
                KnowledgeActivities.search_memories,
                request.search,
                summary="search memories",
                retry_policy=RETRY_BRIEFLY,
            )
        if request.page is not None:
            listing = execute_activity(KnowledgeActivities.list_memories, request.page, summary="list memories")
            replies["page"] = await listing
        return MemoryReply(**replies)
