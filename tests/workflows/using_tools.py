"""A workflow for tests that uses tools as it is told, one after the other."""

from temporalio import workflow

from workflows.research.toolbox import Toolbox
from workflows.research.tools import TOOLS, available, use
from workflows.runtime.calls import Calls
from workflows.runtime.control import Steered

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from tenure.contracts.base import Contract
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.research.spiral import SubagentRequest
    from tenure.contracts.research.tools import Observation, ToolName


class Uses(Contract):
    """What is to be used, on which task."""

    task: SubagentRequest
    """The task."""
    uses: tuple[tuple[ToolName, dict[str, JsonValue]], ...]
    """Tools with their arguments."""


class Used(Contract):
    """What came of it."""

    available: tuple[ToolName, ...]
    """Tools that the run has."""
    described: str
    """What a model is told of tables and servers."""
    observations: tuple[Observation, ...]
    """One for each use."""
    found: tuple[PassageRef, ...]
    """Passages in the order of their numbers."""


@workflow.defn
class UsingTools(Steered):
    """Uses tools."""

    @workflow.init
    def __init__(self, request: Uses) -> None:
        """Start with an empty toolbox."""
        super().__init__(request.task.stance)
        self.box = Toolbox(Calls(self, request.task.limits), request.task, lambda: self.finishing)

    @workflow.run
    async def run(self, request: Uses) -> Used:
        """Use every tool in turn."""
        await self.box.open()
        observations: list[Observation] = []
        for name, arguments in request.uses:
            observations.append(await use(self.box, name, TOOLS[name].arguments.model_validate(arguments)))
        return Used(
            available=tuple(available(self.box)),
            described=self.box.described(),
            observations=tuple(observations),
            found=tuple(self.box.found.values()),
        )
