"""Run SQL over tables in documents and databases."""

from tenure.contracts.evidence.tables import QueryReply, SqlRequest
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.messages import SqlBody
from tenure.runs.paths import allow_reading, plan_ingestion
from tenure.runs.run_ids import check_corpus
from tenure.runs.session.connection import SQL_WORKFLOW, Session, run_workflow


def build_request(body: SqlBody) -> SqlRequest:
    """Return the input of the workflow.

    Raises:
        InvalidRequest: no source is named, or a path does not exist.
    """
    requested = [check_corpus(name) for name in body.corpora]
    ingest = [plan_ingestion(body.docs, include_secrets=body.include_secrets)] if body.docs else []
    corpora = tuple(dict.fromkeys((*(ingestion.corpus for ingestion in ingest), *requested)))
    databases = tuple(dict.fromkeys(body.databases))
    if not corpora and not databases:
        raise InvalidRequest("name the tables, by documents, a corpus or a database")
    return SqlRequest(sql=body.sql, ingest=tuple(ingest), corpora=corpora, databases=databases)


async def query_tables(session: Session, request: SqlRequest) -> QueryReply:
    """Return the rows of a query.

    Raises:
        TenureError: the query failed.
    """
    allow_reading(session.place, request.ingest)
    reply = await run_workflow(session, SQL_WORKFLOW, request, QueryReply, action="sql", summary=request.sql)
    if reply.problem:
        raise TenureError(reply.problem)
    return reply
