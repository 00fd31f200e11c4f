"""Maintenance activities: compaction, refresh of the indexes, removal of old versions; one activity each."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translated
from activities.heartbeat import Beat
from tenure.contracts.knowledge.maintenance import MaintenanceProgress, MaintenanceStep, StepReport

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class MaintenanceActivities:
    """Looking after one knowledge base. Synchronous: they run in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def compact_tables(self) -> StepReport:
        """Join small files, and take new rows into the indexes."""
        return self._step("compact")

    @activity.defn
    def refresh_indexes(self) -> StepReport:
        """Build the indexes that a table's size and the settings ask for."""
        return self._step("index")

    @activity.defn
    def remove_old_versions(self) -> StepReport:
        """Remove versions that nobody can be reading any more."""
        return self._step("clean")

    def _step(self, step: MaintenanceStep) -> StepReport:
        with translated(), Beat(MaintenanceProgress(step=step)) as beat:
            return self._knowledge.maintain(step, beat.tell, activity.is_cancelled)
