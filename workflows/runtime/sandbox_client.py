"""Run programs and their tests in the sandbox of a worker."""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.progress import ProgressReporter

with workflow.unsafe.imports_passed_through():
    from activities.sandbox import SandboxActivities
    from tenure.contracts.result.programs import ProgramRequest, RepairReply, RepairRequest, TestRunRequest
    from tenure.contracts.run.run import RunLimits
    from tenure.contracts.sandbox import SandboxOutcome, SandboxSelfTest

CHECK_ATTEMPTS = 3
"""Attempts to reach a worker with a sandbox: an outage of all workers counts as one attempt."""


class SandboxClient:
    """Client for the sandbox."""

    def __init__(self, workflow_: ControllableWorkflow, limits: RunLimits, progress: ProgressReporter) -> None:
        """Wait for a worker with a sandbox as long as `limits` allows, and report with `progress` before a program."""
        self._workflow = workflow_
        self._limits = limits
        self._progress = progress

    async def check(self, max_wait: float | None = None) -> SandboxSelfTest | None:
        """Return the result of the sandbox's self-test, or None if no worker has a sandbox.

        Args:
            max_wait: seconds to wait for a worker at most; None for the limit of the run.
        """
        await self._workflow.wait_while_paused()
        wait = (
            self._limits.sandbox_wait_seconds if max_wait is None else min(max_wait, self._limits.sandbox_wait_seconds)
        )
        schedule_to_start = timedelta(seconds=wait / CHECK_ATTEMPTS)
        for _ in range(CHECK_ATTEMPTS):
            try:
                return await execute_activity(
                    SandboxActivities.check_sandbox,
                    summary="what can be run",
                    schedule_to_start_timeout=schedule_to_start,
                )
            except ActivityError as error:
                if not isinstance(error.cause, TimeoutError) or error.cause.type != TimeoutType.SCHEDULE_TO_START:
                    raise
        return None

    async def run_tests(self, request: TestRunRequest, *, summary: str) -> SandboxOutcome:
        """Test a program."""
        await self._workflow.wait_while_paused()
        timeout = _attempt_timeout(request.test_run.limits.wall_seconds)
        with self._progress.track_long_step():
            return await execute_activity(
                SandboxActivities.run_tests, request, summary=summary, start_to_close_timeout=timeout
            )

    async def run_program(self, request: ProgramRequest, *, summary: str) -> SandboxOutcome:
        """Run a program."""
        await self._workflow.wait_while_paused()
        timeout = _attempt_timeout(request.program.limits.wall_seconds)
        with self._progress.track_long_step():
            return await execute_activity(
                SandboxActivities.run_program, request, summary=summary, start_to_close_timeout=timeout
            )

    async def repair_program(self, request: RepairRequest, *, summary: str) -> RepairReply:
        """Search for a small edit that makes a program pass its tests."""
        await self._workflow.wait_while_paused()
        timeout = _attempt_timeout(request.seconds + 2 * request.limits.wall_seconds)
        with self._progress.track_long_step():
            return await execute_activity(
                SandboxActivities.repair_program, request, summary=summary, start_to_close_timeout=timeout
            )


def _attempt_timeout(wall_seconds: float) -> timedelta:
    """Return the timeout of an activity whose program is stopped after `wall_seconds`."""
    return timedelta(seconds=2 * wall_seconds, minutes=5)
