"""Delete histories on a server, as a person or the retention of its namespace does."""

from functools import partial
from typing import Any

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from tests.support.waiting import wait_until


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
        await wait_until("the deletion", partial(_is_deleted, client.get_workflow_handle(one.id, run_id=one.run_id)))


async def _is_deleted(handle: WorkflowHandle[Any, Any]) -> bool:
    try:
        await handle.describe()
    except RPCError as error:
        assert error.status == RPCStatusCode.NOT_FOUND
        return True
    return False


async def wait_until_archived(client: Client) -> None:
    """Wait until no run is being archived; a server that skips time cannot list runs."""
    query = "WorkflowType = 'ArchiveWorkflow' AND ExecutionStatus = 'Running'"
    try:
        await wait_until("the archived runs", lambda: client.count_workflows(query), lambda found: not found.count)
    except RPCError as error:
        if error.status != RPCStatusCode.UNIMPLEMENTED:
            raise
