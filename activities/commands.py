"""Run commands and tests of a project in the sandbox, in the files of a state of its repository."""

from collections.abc import Iterator
from contextlib import contextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeat import send_heartbeats
from activities.sandbox import continue_repair, translate_sandbox_errors
from activities.workspaces import translate_repository_errors
from tenure.contracts.coding.repositories import (
    ActionResult,
    CheckReport,
    CheckRequest,
    CommandReply,
    CommandRequest,
    EnvironmentRequest,
    ProjectRepairReply,
    ProjectRepairRequest,
    ProjectTestReport,
    ProjectTestRequest,
    SetupProgress,
    SetupReply,
)
from tenure.repositories.environments import EnvironmentLost, Environments
from tenure.repositories.errors import RepositoryRefused
from tenure.repositories.observations import show_command, show_outcome
from tenure.repositories.project_tests import ProjectTests
from tenure.repositories.repairing import ProjectRepair
from tenure.repositories.workspaces import Workspaces
from tenure.sandbox.base import CommandOutcome, FolderCommand, FolderSandbox

ENVIRONMENT_LOST = "EnvironmentLost"
"""The environment of a run cannot be installed on this machine; another attempt may succeed."""

_MAX_SUMMARY_CHARS = 120


class CommandActivities:
    """Activities on the files of a state and the sandbox."""

    def __init__(
        self, sandbox: FolderSandbox, workspaces: Workspaces, environments: Environments, tests: ProjectTests
    ) -> None:
        self._sandbox, self._workspaces, self._environments, self._tests = sandbox, workspaces, environments, tests
        self._repair = ProjectRepair(sandbox, workspaces, environments, tests)

    @activity.defn
    async def set_up_environment(self, request: EnvironmentRequest) -> SetupReply:
        """Find out how a project is installed and tested, and install it; the heartbeats name a set-up that runs."""
        running: list[SetupProgress] = []
        with translate_command_errors():
            async with send_heartbeats(lambda: running):
                return await self._environments.set_up(request, running.append)

    @activity.defn
    async def run_command(self, request: CommandRequest) -> CommandReply:
        """Run a command, and record what it changes.

        A command whose folder grows too large, or leaves what cannot be recorded, changes nothing.
        """
        with translate_command_errors():
            async with send_heartbeats(), self._workspaces.open(request.workspace) as folder:
                async with self._environments.use(request.workspace, request.environment, folder) as environment:
                    outcome = await self._sandbox.run_command(
                        FolderCommand(
                            request.command,
                            folder,
                            environment,
                            variables=dict(request.environment.variables),
                            limits=request.limits,
                        )
                    )
                return await self._record(request, outcome)

    async def _record(self, request: CommandRequest, outcome: CommandOutcome) -> CommandReply:
        """Store the changes of a command, inside of its open workspace."""
        text = show_command(outcome)
        summary = ": ".join(filter(None, (show_outcome(outcome), _find_last_line(outcome.stdout))))
        try:
            if "folder" in outcome.limits_hit:
                raise RepositoryRefused("its folder grew too large")
            recorded = await self._workspaces.record(request.workspace)
        except RepositoryRefused as error:
            text += f"\nThe changes of this command were discarded: {error}"
            return CommandReply(
                workspace=request.workspace,
                observation=ActionResult(text=text, summary=f"{summary}, changes discarded", failed=True),
                exit_code=outcome.exit_code,
                seconds=outcome.seconds,
            )
        if recorded.left_out:
            text += f"\nNot part of the patch: {'; '.join(recorded.left_out[:10])}"
        return CommandReply(
            workspace=recorded.workspace,
            observation=ActionResult(text=text, summary=summary, failed=outcome.exit_code != 0),
            change=recorded.change if recorded.workspace != request.workspace else None,
            exit_code=outcome.exit_code,
            seconds=outcome.seconds,
        )

    @activity.defn
    async def run_project_tests(self, request: ProjectTestRequest) -> ProjectTestReport:
        """Run tests in a copy of a state."""
        with translate_command_errors():
            async with send_heartbeats():
                return await self._tests.run(request)

    @activity.defn
    async def repair_project(self, request: ProjectRepairRequest) -> ProjectRepairReply:
        """Search for a small edit that makes failing tests pass; the heartbeat's details are a `RepairProgress`."""
        with translate_command_errors():
            async with continue_repair() as (progress, update):
                return await self._repair.search(request, progress, update)

    @activity.defn
    async def run_project_checks(self, request: CheckRequest) -> CheckReport:
        """Run linters and type checkers in a copy of a state."""
        with translate_command_errors():
            async with send_heartbeats():
                return await self._tests.check(request)


@contextmanager
def translate_command_errors() -> Iterator[None]:
    """Translate errors of the sandbox, of repositories and of environments.

    Raises:
        ApplicationError: for every such error.
    """
    try:
        with translate_repository_errors(), translate_sandbox_errors():
            yield
    except EnvironmentLost as error:
        raise ApplicationError(str(error), type=ENVIRONMENT_LOST) from error


def _find_last_line(text: str) -> str:
    """Return the last line of an output, in which runners of tests print the counts, shortened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].strip("= ")[:_MAX_SUMMARY_CHARS] if lines else ""
