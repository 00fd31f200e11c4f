"""Tests of the heartbeat timeout that the settings of a worker give to the activities of its workflows."""

import uuid
from datetime import timedelta

import pytest
from temporalio import activity
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.evidence.corpora import CorpusReply, CorpusRequest
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, SqlRequest
from tenure.contracts.run.role_calls import DEFAULT_HEARTBEAT_SECONDS
from tests.support.workers import PatientWorker
from workflows.runtime.heartbeat_timeout import HeartbeatTimeoutInterceptor
from workflows.runtime.task_queues import SEARCH_QUEUE
from workflows.upkeep.knowledge import CorpusWorkflow, SqlWorkflow


@pytest.mark.parametrize("seconds", [None, 123.0])
async def test_activities_have_the_timeout_of_the_worker(server: WorkflowEnvironment, seconds: float | None) -> None:
    """The worker's timeout replaces the default; an activity that sends no heartbeats gets none."""
    timeouts: list[timedelta | None] = []

    @activity.defn
    async def query_tables(request: QueryRequest) -> QueryReply:
        timeouts.append(activity.info().heartbeat_timeout)
        return QueryReply()

    @activity.defn
    async def manage_corpora(request: CorpusRequest) -> CorpusReply:
        timeouts.append(activity.info().heartbeat_timeout)
        return CorpusReply()

    queue = f"heartbeats-{uuid.uuid4().hex[:8]}"
    interceptors = [] if seconds is None else [HeartbeatTimeoutInterceptor(seconds)]
    workflows = PatientWorker(
        server.client, task_queue=queue, workflows=[SqlWorkflow, CorpusWorkflow], interceptors=interceptors
    )
    activities = PatientWorker(server.client, task_queue=SEARCH_QUEUE, activities=[query_tables, manage_corpora])
    async with workflows, activities:
        sql, corpora = SqlRequest(sql="SELECT 1"), CorpusRequest(action="list")
        await server.client.execute_workflow(SqlWorkflow.run, sql, id=f"{queue}-sql", task_queue=queue)
        await server.client.execute_workflow(CorpusWorkflow.run, corpora, id=f"{queue}-corpora", task_queue=queue)

    assert timeouts == [timedelta(seconds=seconds or DEFAULT_HEARTBEAT_SECONDS), None]
