"""Query running workflows only after new events in their histories.

A query costs an action of Temporal Cloud and a task of a worker, the description of a workflow costs neither, and the
answer can differ only after a new event. Displays therefore describe a workflow periodically and query it rarely:
without news only to notice that no worker answers any more, after pauses that double.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from temporalio.client import WorkflowExecutionDescription, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError

from tenure.runs.session.connection import NO_ANSWER

T = TypeVar("T")

QUERY_TIMEOUT = timedelta(seconds=3)
"""Time that a worker has for its answer."""

MIN_QUERY_SECONDS = 1.0
"""Shortest time between two queries of a workflow, whose news come in bursts of events."""

MIN_SILENCE_SECONDS, MAX_SILENCE_SECONDS = 5.0, 300.0
"""Shortest and longest time after which a workflow without news is queried again."""

_MAX_ANSWERS = 100


@dataclass
class _Answer(Generic[T]):
    """Latest answer of a workflow."""

    history: tuple[str, int]
    """Execution and number of its events before the query."""
    since: float
    """Time at which this history was first seen."""
    asked: float
    """Time of the last query."""
    value: T | None

    def is_valid(self, history: tuple[str, int], now: float) -> bool:
        """Return whether the workflow need not be queried."""
        if self.value is None or self.history[0] != history[0]:
            return False
        silence = min(max(self.asked - self.since, MIN_SILENCE_SECONDS), MAX_SILENCE_SECONDS)
        return now - self.asked < (silence if self.history == history else MIN_QUERY_SECONDS)


class RunQuery(Generic[T]):
    """A query with the latest answers of the workflows that it was sent to."""

    def __init__(self, name: str, type: type[T]) -> None:
        self._name, self._type = name, type
        self._answers: OrderedDict[str, _Answer[T]] = OrderedDict()

    async def read(self, handle: WorkflowHandle[Any, Any], description: WorkflowExecutionDescription) -> T | None:
        """Return the answer of a workflow that has just been described; None if no worker answers in time.

        Raises:
            RPCError: the server does not answer, or the workflow does not exist.
        """
        history, now = (description.run_id, description.history_length), time.monotonic()
        cached = self._answers.get(handle.id)
        if cached is not None:
            if cached.is_valid(history, now):
                return cached.value
            cached.asked = now  # other displays of this process do not ask at the same time
        value = await self._query(handle)
        since = cached.since if cached is not None and cached.history == history else now
        self._answers[handle.id] = _Answer(history, since, now, value)
        self._answers.move_to_end(handle.id)
        if len(self._answers) > _MAX_ANSWERS:
            self._answers.popitem(last=False)
        return value

    def forget(self, workflow_id: str) -> None:
        """Forget the answer of a workflow that has just received a command: the next display shows its effect."""
        self._answers.pop(workflow_id, None)

    async def _query(self, handle: WorkflowHandle[Any, Any]) -> T | None:
        try:
            answer: T = await handle.query(self._name, result_type=self._type, rpc_timeout=QUERY_TIMEOUT)
        except WorkflowQueryFailedError:
            return None  # the workflow has not taken its first step yet, or the worker is of another version
        except RPCError as error:
            if error.status in NO_ANSWER:
                return None
            raise
        return answer
