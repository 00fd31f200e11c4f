"""Describe a run and its open child workflows."""

from collections.abc import AsyncIterator

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionRequest, DescribeWorkflowExecutionResponse
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

_MAX_WORKFLOWS = 40


async def describe_run_tree(
    client: Client, run_id: str, limit: int = _MAX_WORKFLOWS
) -> AsyncIterator[DescribeWorkflowExecutionResponse]:
    """Yield the descriptions of a run and its open descendants, at most `limit` of them.

    Raises:
        RPCError: the server does not answer.
    """
    waiting = [WorkflowExecution(workflow_id=run_id)]
    for _ in range(limit):
        if not waiting:
            return
        request = DescribeWorkflowExecutionRequest(namespace=client.namespace, execution=waiting.pop(0))
        try:
            described = await client.workflow_service.describe_workflow_execution(request)
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                continue  # it ended meanwhile and was removed
            raise
        yield described
        waiting += [
            WorkflowExecution(workflow_id=child.workflow_id, run_id=child.run_id)
            for child in described.pending_children
        ]
