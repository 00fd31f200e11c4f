"""Asking a person from within a part of a run: the run puts the question, waits, and sends what came of it."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.base import RunId
    from tenure.contracts.run.control import Question


async def ask(run: RunId, question: Question) -> None:
    """Have the run put a question; what comes of it arrives as an answer of the same number."""
    await workflow.get_external_workflow_handle(run).signal("asks", question)
