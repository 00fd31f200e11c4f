"""List the workflows, and bundle the parts that workers and replayers of them share."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import VersioningBehavior
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleSignalInput,
    HandleUpdateInput,
    Interceptor,
    Replayer,
    UnsandboxedWorkflowRunner,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowRunner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import _Definition

from tenure.extensions import get_plugin_paths
from workflows.coding.coding import CodingWorkflow
from workflows.coding.repository import RepositoryWorkflow
from workflows.research.research import ResearchWorkflow
from workflows.research.spiral import SpiralWorkflow
from workflows.research.subagent import SubagentWorkflow
from workflows.run.agent import AgentWorkflow
from workflows.run.ask import AskWorkflow
from workflows.run.batch import BatchWorkflow
from workflows.upkeep.archive import ArchiveSweepWorkflow, ArchiveWorkflow
from workflows.upkeep.embed import EmbedWorkflow
from workflows.upkeep.knowledge import CorpusWorkflow, GraphWorkflow, IngestWorkflow, MemoryWorkflow, SqlWorkflow
from workflows.upkeep.maintenance import ConsolidationWorkflow, MaintenanceWorkflow
from workflows.upkeep.notify import NotifyWorkflow

WORKFLOWS = [
    AgentWorkflow,
    BatchWorkflow,
    ResearchWorkflow,
    SpiralWorkflow,
    SubagentWorkflow,
    CodingWorkflow,
    RepositoryWorkflow,
    AskWorkflow,
    IngestWorkflow,
    EmbedWorkflow,
    GraphWorkflow,
    CorpusWorkflow,
    SqlWorkflow,
    MaintenanceWorkflow,
    MemoryWorkflow,
    ConsolidationWorkflow,
    NotifyWorkflow,
    ArchiveWorkflow,
    ArchiveSweepWorkflow,
]
"""All workflows; they run on the queue of workflows and cheap activities."""

UPGRADING_WORKFLOWS = (
    ArchiveSweepWorkflow,
    ArchiveWorkflow,
    CorpusWorkflow,
    EmbedWorkflow,
    GraphWorkflow,
    IngestWorkflow,
    MemoryWorkflow,
    SqlWorkflow,
)
"""Workflows of one activity: they have no decisions that a replay by other code could contradict."""

INVALID_DATA = "InvalidData"
"""Type of the failure of a workflow whose code has made data that a contract refuses."""

PASSTHROUGH_MODULES = ("tenure", "activities", "numpy", "sentencex", "Stemmer", "idna", "pydantic")
"""Modules shared by all workflow runs: they hold no state of a run, and reloading them for each would cost seconds."""


def create_workflow_runner() -> SandboxedWorkflowRunner:
    """Return the workflow sandbox, which finds code that is not deterministic, for tests, replayers and plugins."""
    # It reloads the workflow files for every run; without byte code they would be compiled each time.
    sys.dont_write_bytecode = False
    return SandboxedWorkflowRunner(
        restrictions=SandboxRestrictions.default.with_passthrough_modules(*PASSTHROUGH_MODULES)
    )


def choose_workflow_runner() -> WorkflowRunner:
    """Return the runner of a worker: the sandbox only if plugins have code for workflows.

    The sandbox reloads the workflow files for every run and costs a quarter of a worker's processor time. All workflows
    of Tenure run in it in the tests, so what it would find is found there.
    """
    has_plugins = any(get_plugin_paths(kind) for kind in ("tools", "strategies"))
    return create_workflow_runner() if has_plugins else UnsandboxedWorkflowRunner()


def follow_current_version() -> None:
    """Allow the workflows of one activity to move to the current version, in a worker with Worker Versioning.

    The server refuses every task of a worker without it that names such a behavior, so their classes do not. In the
    workflow sandbox, which loads the classes again, they stay pinned like all others.
    """
    for upgrading in UPGRADING_WORKFLOWS:
        definition = _Definition.must_from_class(upgrading)
        upgraded = replace(definition, versioning_behavior=VersioningBehavior.AUTO_UPGRADE)
        setattr(upgrading, "__temporal_workflow_definition", upgraded)


class HandlerInterceptor(Interceptor):
    """Interceptor that ends workflows by invalid data, and waits for running handlers of signals and updates.

    Without the wait, the sender of an update that is being applied would receive an error, and a signal would reach
    only some children. A workflow that continues as new waits itself, since its next state includes their effects.
    """

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        """Return the interceptor of workflows."""
        return _HandlerInbound


class _HandlerInbound(WorkflowInboundInterceptor):
    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        """Execute the workflow, then wait for its handlers."""
        try:
            with _fail_by_invalid_data():
                result = await super().execute_workflow(input)
        except (FailureError, asyncio.CancelledError):
            await workflow.wait_condition(workflow.all_handlers_finished)
            raise
        await workflow.wait_condition(workflow.all_handlers_finished)
        return result

    async def handle_signal(self, input: HandleSignalInput) -> None:
        """Handle a signal; invalid data ends the workflow."""
        with _fail_by_invalid_data():
            await super().handle_signal(input)

    async def handle_update_handler(self, input: HandleUpdateInput) -> Any:
        """Handle an update; invalid data ends the update."""
        with _fail_by_invalid_data():
            return await super().handle_update_handler(input)


@contextmanager
def _fail_by_invalid_data() -> Iterator[None]:
    """Raise a failure for data that a contract refuses: each repetition of the task would make the same data.

    The option `workflow_failure_exception_types` of a worker would also end runs whose arguments or replies only a
    later version can read. Other errors of code repeat the task, so that a run continues with a corrected version.
    """
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, (error.title, *first["loc"])))
        failure = ApplicationError(f"invalid data in {field}: {first['msg']}", type=INVALID_DATA, non_retryable=True)
        raise failure.with_traceback(error.__traceback__) from None


def create_plugin(runner: WorkflowRunner | None = None) -> SimplePlugin:
    """Return the part that workers and replayers share: the runner of workflows and their interceptor."""
    return SimplePlugin(
        "tenure", interceptors=[HandlerInterceptor()], workflow_runner=runner or choose_workflow_runner()
    )


def create_replayer(converter: DataConverter, runner: WorkflowRunner | None = None) -> Replayer:
    """Return a replayer of all workflows."""
    return Replayer(workflows=WORKFLOWS, data_converter=converter, plugins=[create_plugin(runner)])
