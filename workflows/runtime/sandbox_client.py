"""Run programs and their tests in the sandbox of a worker."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

from workflows.runtime.activity_options import I, O, execute_activity
from workflows.runtime.call_record import ActivityClient

with workflow.unsafe.imports_passed_through():
    from activities.commands import CommandActivities
    from activities.sandbox import SandboxActivities
    from tenure.contracts.coding.repositories import (
        CheckReport,
        CheckRequest,
        CommandReply,
        CommandRequest,
        EnvironmentRequest,
        ProjectRepairReply,
        ProjectRepairRequest,
        ProjectTestReport,
        ProjectTestRequest,
        SetupReply,
    )
    from tenure.contracts.result.programs import ProgramRequest, RepairReply, RepairRequest, TestRunRequest
    from tenure.contracts.sandbox import SandboxOutcome, SandboxSelfTest

CHECK_ATTEMPTS = 3
"""Attempts to reach a worker with a sandbox: an outage of all workers counts as one attempt."""

MAX_SETUP_SECONDS = 1800.0
"""Time for the installation of what a project needs."""


class SandboxClient(ActivityClient):
    """Client for the sandbox."""

    async def check(self, max_wait: float | None = None) -> SandboxSelfTest | None:
        """Return the result of the sandbox's self-test, or None if no worker has one, in `max_wait` seconds at most."""
        await self._workflow.wait_while_paused()
        longest = self._limits.sandbox_wait_seconds
        schedule_to_start = timedelta(
            seconds=(longest if max_wait is None else min(max_wait, longest)) / CHECK_ATTEMPTS
        )
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
        return await self._run(SandboxActivities.run_tests, request, request.test_run.limits.wall_seconds, summary)

    async def run_program(self, request: ProgramRequest, *, summary: str) -> SandboxOutcome:
        """Run a program."""
        return await self._run(SandboxActivities.run_program, request, request.program.limits.wall_seconds, summary)

    async def repair_program(self, request: RepairRequest, *, summary: str) -> RepairReply:
        """Search for a small edit that makes a program pass its tests."""
        seconds = request.seconds + 2 * request.limits.wall_seconds
        return await self._run(SandboxActivities.repair_program, request, seconds, summary)

    async def set_up_environment(self, request: EnvironmentRequest, *, summary: str) -> SetupReply:
        """Find or install the environment of a repository."""
        return await self._run(CommandActivities.set_up_environment, request, MAX_SETUP_SECONDS, summary)

    async def run_command(self, request: CommandRequest, *, summary: str) -> CommandReply:
        """Run a command in the files of a repository."""
        return await self._run(CommandActivities.run_command, request, request.limits.wall_seconds, summary)

    async def run_project_tests(self, request: ProjectTestRequest, *, summary: str) -> ProjectTestReport:
        """Run tests of a repository."""
        return await self._run(CommandActivities.run_project_tests, request, request.limits.wall_seconds, summary)

    async def repair_project(self, request: ProjectRepairRequest, *, summary: str) -> ProjectRepairReply:
        """Search for a small edit of a repository that makes failing tests pass."""
        # Tests may take their whole time with a candidate that is started at the end of the search.
        seconds = request.seconds + request.limits.wall_seconds
        return await self._run(CommandActivities.repair_project, request, seconds, summary)

    async def run_project_checks(self, request: CheckRequest, *, summary: str) -> CheckReport:
        """Run the linters and type checkers of a repository."""
        seconds = request.limits.wall_seconds * max(1, len(request.environment.checks))
        return await self._run(CommandActivities.run_project_checks, request, seconds, summary)

    async def _run(self, method: Callable[[Any, I], Awaitable[O]], request: I, wall_seconds: float, summary: str) -> O:
        """Execute an activity whose program is stopped after `wall_seconds`."""
        await self._workflow.wait_while_paused()
        timeout = timedelta(seconds=2 * wall_seconds, minutes=5)
        with self._progress.track_long_step():
            return await execute_activity(method, request, summary=summary, start_to_close_timeout=timeout)
