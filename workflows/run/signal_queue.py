"""Spread a burst of signals over several workflow tasks, within bounds.

All signals that arrive between two workflow tasks are delivered to one task, which has to end within two seconds. The
first ones of a task are applied immediately, the others wait for later tasks. Signals beyond the bounds of the queue
are dropped and counted, except for commands that repeat an older one: of those only the latest is kept.
"""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.run.control import CommandName

MAX_SIGNALS_PER_TASK = 20
"""Signals that are applied in one workflow task."""
MAX_QUEUED_SIGNALS, MAX_QUEUED_BYTES = 500, 256_000
"""Maximum number of waiting signals, and bytes of their inputs as JSON."""
PAUSE_BETWEEN_TASKS = timedelta(milliseconds=50)
"""Timer that ends a workflow task while signals wait."""

REPLACED_BY: dict[CommandName, tuple[CommandName, ...]] = {
    "pause": ("pause", "resume"),
    "resume": ("pause", "resume"),
    "finish": ("finish",),
    "approve": ("approve",),
    "cancel": ("cancel",),
}
"""Commands that are never dropped, and the waiting ones that each of them makes superfluous."""
MAX_OPTION_BYTES = 200
"""Maximum bytes of the input of a command that is never dropped."""


class SignalQueue:
    """Signals of one run that wait for a workflow task."""

    def __init__(
        self, apply: Callable[[CommandName, Any], Awaitable[None]], max_queued: int = MAX_QUEUED_SIGNALS
    ) -> None:
        """Start empty; `apply` executes the command of a signal, and `max_queued` signals may wait."""
        self._apply = apply
        self._max_queued = max_queued
        self._waiting: deque[tuple[CommandName, Any, int]] = deque()
        self._bytes = 0
        self._task_start = 0
        self._applied_in_task = 0
        self._drain: asyncio.Task[None] | None = None
        self.dropped = 0
        """Number of signals that found the queue full."""

    async def handle(self, name: CommandName, argument: Any = None) -> None:
        """Apply a signal, or queue it if others wait or this workflow task has applied enough."""
        if self._waiting or not self._reserve_place():
            self._enqueue(name, argument)
        else:
            await self._apply(name, argument)

    def describe_dropped(self) -> tuple[str, ...]:
        """Return a note on the signals that were dropped or still wait; none if every signal was applied."""
        if not (count := self.dropped + len(self._waiting)):
            return ()
        return (f"{count:,} signals were not read: they came too fast or too late, and {self._max_queued} may wait.",)

    def _reserve_place(self) -> bool:
        """Count one signal of this workflow task, and return whether it may be applied in it."""
        # The length of the history changes with every workflow task, and is the same when the history is replayed.
        if (start := workflow.info().get_current_history_length()) != self._task_start:
            self._task_start, self._applied_in_task = start, 0
        self._applied_in_task += 1
        return self._applied_in_task <= MAX_SIGNALS_PER_TASK

    def _enqueue(self, name: CommandName, argument: Any) -> None:
        size = len(json.dumps(argument))
        if (replaced := REPLACED_BY.get(name)) and size <= MAX_OPTION_BYTES:
            self._waiting = deque(entry for entry in self._waiting if entry[0] not in replaced)
            self._bytes, size = sum(waiting for _, _, waiting in self._waiting), 0
        elif len(self._waiting) >= self._max_queued or self._bytes + size > MAX_QUEUED_BYTES:
            self.dropped += 1
            return
        self._waiting.append((name, argument, size))
        self._bytes += size
        if self._drain is None or self._drain.done():
            self._drain = asyncio.create_task(self._apply_waiting())

    async def _apply_waiting(self) -> None:
        while self._waiting:
            await workflow.sleep(PAUSE_BETWEEN_TASKS)
            while self._waiting and self._reserve_place():
                name, argument, size = self._waiting.popleft()
                self._bytes -= size
                await self._apply(name, argument)
