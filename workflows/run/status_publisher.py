"""Publish the progress of a run: for queries, as search attributes, on the status page, and by notifications."""

from typing import Any

from temporalio import workflow

from workflows.runtime import search_attributes
from workflows.upkeep.notify import NotificationSender

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.status_page import render_status_page
    from tenure.contracts.run.run import RunProgress
    from tenure.metrics import PHASE_SECONDS, RESULT_STATUSES, RUN_PHASES, RUNS


class StatusPublisher:
    """Progress of one run, and everything that displays it."""

    def __init__(self, progress: RunProgress, notifications: str | None) -> None:
        """Start with a progress that is not published yet."""
        self.progress = progress
        self._published = False
        self._phase_start = workflow.now()
        self.notifications = NotificationSender(notifications, progress.question)

    def update(self, **changes: Any) -> None:
        """Change fields of the progress and publish it."""
        assert changes.keys() <= RunProgress.model_fields.keys(), f"unknown fields in {', '.join(changes)}"
        before, self.progress = self.progress, self.progress.model_copy(update=changes)
        self._count(before)
        self._published = True
        self._update_search_attributes()
        request = self.progress.input_request
        self.notifications.update(self.progress.status, request.model_dump_json() if request else "")
        workflow.set_current_details(render_status_page(self.progress))

    def _count(self, before: RunProgress) -> None:
        """Count the phases that begin and the end of the run."""
        after, meter = self.progress, workflow.metric_meter()
        if after.phase != before.phase or not self._published:
            meter.create_counter(RUN_PHASES.name, RUN_PHASES.description).add(1, {"phase": after.phase})
        if after.phase != before.phase:
            seconds = (workflow.now() - self._phase_start).total_seconds()
            durations = meter.create_histogram_float(PHASE_SECONDS.name, PHASE_SECONDS.description)
            durations.record(max(seconds, 0.0), {"phase": before.phase})
            self._phase_start = workflow.now()
        if after.status != before.status and after.status in RESULT_STATUSES:
            meter.create_counter(RUNS.name, RUNS.description).add(1, {"status": after.status})

    def _update_search_attributes(self) -> None:
        """Write the search attributes that differ from those of the run."""
        progress, info = self.progress, workflow.info()
        current = (
            (search_attributes.MODE, progress.mode),
            (search_attributes.PHASE, progress.phase),
            (search_attributes.STATUS, progress.status),
            (search_attributes.OWNER, info.priority.fairness_key),
        )
        attributes = info.typed_search_attributes
        changed = [key.value_set(value) for key, value in current if value and attributes.get(key) != value]
        if changed:
            workflow.upsert_search_attributes(changed)
