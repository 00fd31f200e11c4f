"""A workflow for tests that performs given tool calls one after the other."""

from temporalio import workflow

from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from tenure.contracts.base import Contract
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.research.spiral import SubagentRequest
    from tenure.contracts.research.tools import Observation
    from workflows.research.tool_context import ToolContext
    from workflows.research.tool_registry import TOOLS, list_available_tools, use_tool


class Uses(Contract):
    """Tool calls to perform for a task."""

    task: SubagentRequest
    """The task."""
    uses: tuple[tuple[str, dict[str, JsonValue]], ...]
    """Names of tools with their arguments."""


class Used(Contract):
    """Results of the calls."""

    available: tuple[str, ...]
    """Tools that the run can use."""
    described: str
    """Description of tables and servers for the model."""
    observations: tuple[Observation, ...]
    """One for each call."""
    found: tuple[PassageRef, ...]
    """Passages in the order of their numbers."""


@workflow.defn
class UsingTools(ControllableWorkflow):
    """Performs tool calls."""

    @workflow.init
    def __init__(self, request: Uses) -> None:
        """Create a context without passages."""
        super().__init__(request.task.control)
        self.context = ToolContext(ActivityClients(self, request.task.limits), request.task, lambda: self.is_finishing)

    @workflow.run
    async def run(self, request: Uses) -> Used:
        """Perform every call in turn."""
        await self.context.discover()
        observations: list[Observation] = []
        for name, arguments in request.uses:
            observations.append(await use_tool(self.context, name, TOOLS[name].arguments.model_validate(arguments)))
        return Used(
            available=tuple(list_available_tools(self.context)),
            described=self.context.describe_resources(),
            observations=tuple(observations),
            found=tuple(self.context.passages.values()),
        )
