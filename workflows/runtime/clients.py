"""Bundle the clients through which one workflow of a run executes activities."""

from collections.abc import Awaitable, Callable
from typing import Any, overload

from temporalio import workflow

from workflows.runtime.activity_options import I, O, execute_activity
from workflows.runtime.budget import BudgetLease, BudgetSource, request_by_signal
from workflows.runtime.call_record import CallRecord
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.knowledge_client import KnowledgeClient
from workflows.runtime.mcp_client import McpClient
from workflows.runtime.model_client import ModelClient
from workflows.runtime.progress import ProgressReporter
from workflows.runtime.sandbox_client import SandboxClient
from workflows.runtime.web_client import WebClient

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control import budget
    from tenure.contracts.run.budget import BudgetAmounts
    from tenure.contracts.run.run import RunLimits


class ActivityClients:
    """Clients of one workflow, on one budget lease and one record."""

    def __init__(
        self,
        workflow_: ControllableWorkflow,
        limits: RunLimits,
        source: BudgetSource | None = None,
        question: str = "",
        run: str = "",
    ) -> None:
        """Create the clients.

        Without a source, the run grants budget. Web pages that the question names may be read.
        """
        self._workflow = workflow_
        self.record = CallRecord()
        self.log = workflow_.log
        self.progress = ProgressReporter(
            run, lambda: self.record.usage, self.log.drain, lambda: self.lease.remaining != BudgetAmounts()
        )
        self.lease = BudgetLease(
            workflow_,
            limits,
            source or request_by_signal(workflow_, run),
            lambda: budget.compute_used_amounts(self.record.usage),
            self.progress if run else None,
        )
        shared = (workflow_, limits, self.lease, self.record, self.progress)
        self.models = ModelClient(*shared)
        self.web = WebClient(*shared, limits.web, question) if limits.web else None
        self.knowledge = KnowledgeClient(*shared, self.models, self.web)
        self.mcp = McpClient(*shared)
        self.sandbox = SandboxClient(*shared)

    @overload
    async def execute_activity(self, method: Callable[[Any, I], Awaitable[O]], request: I, *, summary: str) -> O: ...
    @overload
    async def execute_activity(self, method: Callable[[Any, I], O], request: I, *, summary: str) -> O: ...
    async def execute_activity(self, method: Callable[[Any, Any], Any], request: Any, *, summary: str) -> Any:
        """Execute an activity that costs no budget, as soon as the run is not paused."""
        await self._workflow.wait_while_paused()
        return await execute_activity(method, request, summary=summary)
