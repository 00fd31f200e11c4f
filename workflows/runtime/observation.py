"""Observe workflows: pass run, cycle, trace and fairness key on to what they call, and trace the workflows themselves.

The position of a workflow in a trace is computed from the ids of its execution, so that a replay computes the same one
and nothing of it is part of the state. Spans are made outside the sandbox by functions of the worker, when an execution
ends; a replay makes none. Headers of commands are not compared by a replay.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from temporalio import activity, client, worker, workflow
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import FailureError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ContinueAsNewInput,
    ExecuteWorkflowInput,
    StartActivityInput,
    StartChildWorkflowInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

with workflow.unsafe.imports_passed_through():
    from activities.observation import CONTEXT_HEADER, ActivityObserver, RunContext, decode_context, get_run
    from tenure.metrics import MetricRecorder
    from tenure.ownership import MAX_FAIRNESS_KEY_BYTES
    from tenure.tracing.positions import (
        WorkflowSpan,
        compute_span_id,
        compute_trace_id,
        format_traceparent,
        get_trace_id,
    )

if TYPE_CHECKING:
    from tenure.tracing.tracer import Tracer

_IS_SAMPLED = "is_trace_sampled"
_RECORD = "record_workflow_span"


class ObservationInterceptor(client.Interceptor, worker.Interceptor):
    """Interceptor of a client whose workers observe what they execute."""

    def __init__(self, recorder: MetricRecorder, tracer: "Tracer | None") -> None:
        """Record metrics with `recorder`, and trace if there is a tracer."""
        self._recorder, self._tracer = recorder, tracer

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Observe every activity."""
        return ActivityObserver(next, self._recorder, self._tracer)

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        """Return the interceptor of workflows, and register the functions that make spans."""
        if self._tracer is not None:
            input.unsafe_extern_functions[_IS_SAMPLED] = self._tracer.is_sampled
            input.unsafe_extern_functions[_RECORD] = self._tracer.record_workflow
        return _ObservedInbound


def configure_sdk_loggers() -> None:
    """Leave the ids of workflows and activities to the fields of a log line instead of adding them to its text."""
    workflow.logger.workflow_info_on_message = False
    activity.logger.activity_info_on_message = False


class _ExecutionContext:
    """Position of one workflow execution in its run and in the trace of the run; known when the execution begins."""

    @cached_property
    def parent(self) -> RunContext:
        """Position of the caller; empty for the first workflow of a run, also if another run has started it."""
        inherited = decode_context(workflow.info().headers)
        return inherited if inherited.run == get_run(workflow.info().workflow_id) else RunContext()

    @cached_property
    def own(self) -> RunContext:
        """Position of this execution."""
        info, traceparent = workflow.info(), ""
        if is_sampled := workflow.extern_functions().get(_IS_SAMPLED):
            trace = get_trace_id(self.parent.traceparent) or compute_trace_id(info.first_execution_run_id)
            traceparent = format_traceparent(trace, compute_span_id(info.run_id), sampled=is_sampled(trace))
        return RunContext(get_run(info.workflow_id), self.parent.cycle, traceparent)


class _ObservedInbound(WorkflowInboundInterceptor):
    """Interceptor of one workflow execution."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        """Share the context with the outbound interceptor."""
        self._context = _ExecutionContext()
        super().init(_ObservedOutbound(outbound, self._context))

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        """Execute the workflow, and record its span when it ends."""
        try:
            result = await super().execute_workflow(input)
        except workflow.ContinueAsNewError:
            self._record_span("")
            raise
        except FailureError as error:
            self._record_span(type(error).__name__)
            raise
        except asyncio.CancelledError:
            # The eviction of an execution from the cache cancels it as well.
            if workflow.cancellation_reason() is not None:
                self._record_span("cancelled")
            raise
        self._record_span("")
        return result

    def _record_span(self, error: str) -> None:
        own, info = self._context.own, workflow.info()
        if not own.traceparent or workflow.unsafe.is_replaying():
            return
        workflow.extern_functions()[_RECORD](
            WorkflowSpan(
                name=info.workflow_type,
                traceparent=own.traceparent,
                parent=self._context.parent.traceparent,
                start=info.workflow_start_time.timestamp(),
                end=workflow.now().timestamp(),
                attributes={
                    "tenure.run": own.run,
                    "temporal.workflow.id": info.workflow_id,
                    "temporal.workflow.run_id": info.run_id,
                    "temporal.task_queue": info.task_queue,
                },
                error=error,
            )
        )


class _ObservedOutbound(WorkflowOutboundInterceptor):
    """Interceptor that adds the context to everything that a workflow starts."""

    def __init__(self, next: WorkflowOutboundInterceptor, context: _ExecutionContext) -> None:
        super().__init__(next)
        self._context = context

    @cached_property
    def _fairness_key(self) -> str:
        """Name of the run, in the bytes that a key may have."""
        return self._context.own.run.encode()[:MAX_FAIRNESS_KEY_BYTES].decode(errors="ignore")

    def _add_context(self, headers: Mapping[str, Payload]) -> Mapping[str, Payload]:
        """Return headers with the context; a workflow with cycles has the attribute `cycle`."""
        own = self._context.own
        cycle = getattr(workflow.instance(), "cycle", 0) or own.cycle
        return {**headers, CONTEXT_HEADER: RunContext(own.run, cycle, own.traceparent).encode()}

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:
        """Add the context to the next execution."""
        input.headers = self._add_context(input.headers)
        super().continue_as_new(input)

    async def start_child_workflow(self, input: StartChildWorkflowInput) -> workflow.ChildWorkflowHandle[Any, Any]:
        """Add the context to a child."""
        input.headers = self._add_context(input.headers)
        return await super().start_child_workflow(input)

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        """Add the context to an activity; without an owner, runs take turns on a queue with a backlog."""
        input.headers = self._add_context(input.headers)
        if not workflow.info().priority.fairness_key:
            input.priority = replace(input.priority, fairness_key=self._fairness_key)
        return super().start_activity(input)
