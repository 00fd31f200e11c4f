"""Apply a worker's heartbeat timeout to the activities that its workflows start.

Workflows never read settings, and a replay does not compare the timeouts of activities.
"""

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.worker import (
    Interceptor,
    StartActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

_TIMEOUT = "heartbeat_timeout"


class HeartbeatTimeoutInterceptor(Interceptor):
    """Interceptor of a worker that replaces the heartbeat timeout of every activity that has one."""

    def __init__(self, seconds: float) -> None:
        """Replace the timeouts by this number of seconds."""
        self._timeout = timedelta(seconds=seconds)

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        """Return the interceptor of workflows, and register the function that returns the timeout."""
        input.unsafe_extern_functions[_TIMEOUT] = lambda: self._timeout
        return _TimeoutInbound


class _TimeoutInbound(WorkflowInboundInterceptor):
    """Interceptor of one workflow execution."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        """Intercept what the workflow starts."""
        super().init(_TimeoutOutbound(outbound))


class _TimeoutOutbound(WorkflowOutboundInterceptor):
    """Interceptor of the activities of one workflow execution."""

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        """Start an activity with the heartbeat timeout of the worker."""
        if input.heartbeat_timeout is not None:
            input.heartbeat_timeout = workflow.extern_functions()[_TIMEOUT]()
        return super().start_activity(input)
