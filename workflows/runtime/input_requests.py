"""Ask a person for input from a child workflow: its run asks, waits for the reply, and sends it back."""

from temporalio import workflow

from workflows.runtime.control import send_signal

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.base import RunId
    from tenure.contracts.run.control import InputRequest


async def request_input(run: RunId, request: InputRequest) -> bool:
    """Request input through the run, and return whether the run received the request.

    The reply arrives by the signal `receive_input_reply` with the same number.
    """
    return await send_signal(workflow.get_external_workflow_handle(run), "request_input", request)
