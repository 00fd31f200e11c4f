"""Delete histories on a server, as a person or the retention of its namespace does."""

import asyncio

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode


async def delete_histories(client: Client, run_id: str) -> None:
    """Delete the histories of a run and of its children, and wait until they are gone."""
    query = f"WorkflowId = '{run_id}' OR WorkflowId STARTS_WITH '{run_id}/'"
    found = [one async for one in client.list_workflows(query)]
    assert run_id in {one.id for one in found}
    for one in found:
        named = WorkflowExecution(workflow_id=one.id, run_id=one.run_id)
        request = DeleteWorkflowExecutionRequest(namespace=client.namespace, workflow_execution=named)
        await client.workflow_service.delete_workflow_execution(request)
    for one in found:
        while True:
            try:
                await client.get_workflow_handle(one.id, run_id=one.run_id).describe()
            except RPCError as error:
                assert error.status == RPCStatusCode.NOT_FOUND
                break
            await asyncio.sleep(0.05)


async def wait_until_archived(client: Client) -> None:
    """Wait until no run is being archived; a server that skips time cannot list runs."""
    query = "WorkflowType = 'ArchiveWorkflow' AND ExecutionStatus = 'Running'"
    try:
        while [one async for one in client.list_workflows(query)]:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.05)
    except RPCError as error:
        if error.status != RPCStatusCode.UNIMPLEMENTED:
            raise
