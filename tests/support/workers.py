"""Workers of tests, which do not depend on the speed of the machine."""

from typing import Any

from temporalio.client import Client
from temporalio.common import WorkerDeploymentVersion
from temporalio.worker import Worker, WorkerDeploymentConfig, _replayer
from temporalio.worker._workflow import _WorkflowWorker

DEADLOCK_SECONDS = 60
"""Time after which a workflow task that does not yield counts as a deadlock; the SDK's two seconds are a limit on
speed, which a busy machine may exceed.
"""

_DEPLOYMENT = WorkerDeploymentConfig(
    version=WorkerDeploymentVersion(deployment_name="tests", build_id="tests"), use_worker_versioning=False
)


class PatientWorker(Worker):
    """Worker that starts without hashing all imported modules, and gives a workflow task more time."""

    def __init__(self, client: Client, **options: Any) -> None:
        """Serve a queue, without Worker Versioning unless the options say otherwise."""
        super().__init__(client, **{"deployment_config": _DEPLOYMENT, **options})
        if self._workflow_worker is not None:
            self._workflow_worker._deadlock_timeout_seconds = DEADLOCK_SECONDS


class _PatientWorkflowWorker(_WorkflowWorker):
    """Executor of the workflow tasks of a replay, with more time for each."""

    def __init__(self, **options: Any) -> None:
        """Execute workflow tasks with the options of a replayer."""
        super().__init__(**options)
        self._deadlock_timeout_seconds = DEADLOCK_SECONDS


setattr(_replayer, "_WorkflowWorker", _PatientWorkflowWorker)  # noqa: B010 - the module exports no such name
