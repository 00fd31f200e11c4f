"""Run the tests of a repository with and without a change, and judge it by their results."""

import asyncio
from collections.abc import Awaitable

from temporalio import workflow

from workflows.coding.repository_preparation import Preparation
from workflows.runtime.clients import ActivityClients
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.coding.proof import judge
    from tenure.contracts.coding.repositories import Patch, ProjectTestReport, ProjectTestRequest, Proof


async def verify_change(clients: ActivityClients, prepared: Preparation, patch: Patch) -> Proof:
    """Return what the tests of the project say about a change.

    All tests run with it. Tests that it adds or changes run against the code of the commit as well, where those that
    show the fault fail; if it changes tests, the ones of the commit run with the new code, so that it cannot pass by
    making them easier.
    """
    place = await prepared.prepare_commands()
    changed_tests = tuple(file.path for file in patch.files if file.is_test)
    if place.problem or not place.environment.test:
        reason = place.problem or "no command for the tests of the project was found"
        return Proof(verdict="unproved", changed_tests=changed_tests, notes=(f"No test was run: {reason}.",))
    request = ProjectTestRequest(workspace=patch.workspace, environment=place.environment)
    run_tests = clients.sandbox.run_project_tests
    notes: list[str] = []

    async def run(step: Awaitable[ProjectTestReport]) -> ProjectTestReport | None:
        failure = "Tests could not be run"
        return await run_optional_step(step, None, failure, notes.append, MODEL_STEP_LIMIT)

    async def skip() -> None:
        return None

    added = tuple(file.path for file in patch.files if file.is_test and file.status != "deleted")
    had_tests = any(file.is_test and file.status != "added" for file in patch.files)
    with_commit_code = request.model_copy(update={"original_code": True, "ids": added})
    with_commit_tests = request.model_copy(update={"original_tests": True})
    before, after, new_tests_before, old_tests_after = await asyncio.gather(
        prepared.finish_tests(),
        run(run_tests(request, summary="all tests, with the change")),
        run(run_tests(with_commit_code, summary="new tests, without the change")) if added else skip(),
        run(run_tests(with_commit_tests, summary="tests of the commit, with the change")) if had_tests else skip(),
    )
    if before is None or after is None:
        return Proof(verdict="unproved", changed_tests=changed_tests, notes=tuple(notes))
    proof = judge(before, after, new_tests_before, old_tests_after, changed_tests)
    return proof.model_copy(update={"notes": (*proof.notes, *notes)})
