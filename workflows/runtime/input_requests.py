"""Ask a person for input from a child workflow: its run asks, waits for the reply, and sends it back."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.base import RunId
    from tenure.contracts.run.control import InputRequest


async def request_input(run: RunId, request: InputRequest) -> None:
    """Request input through the run; the reply arrives by the signal `receive_input_reply` with the same number."""
    await workflow.get_external_workflow_handle(run).signal("request_input", request)
