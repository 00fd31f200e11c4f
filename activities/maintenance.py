"""Maintain the knowledge base: compact tables, refresh indexes, remove old versions."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translate_errors
from activities.heartbeat import HeartbeatThread
from tenure.contracts.knowledge.maintenance import MaintenanceProgress, MaintenanceStep, MaintenanceStepReport

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class MaintenanceActivities:
    """Maintenance of one knowledge base; synchronous, executed in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def compact_tables(self) -> MaintenanceStepReport:
        """Merge small files and add new rows to the indexes."""
        return self._run_step("compact")

    @activity.defn
    def refresh_indexes(self) -> MaintenanceStepReport:
        """Build the indexes that the sizes of tables and the settings require."""
        return self._run_step("index")

    @activity.defn
    def remove_old_versions(self) -> MaintenanceStepReport:
        """Remove table versions that no reader can be using any more."""
        return self._run_step("clean")

    def _run_step(self, step: MaintenanceStep) -> MaintenanceStepReport:
        with translate_errors(), HeartbeatThread(MaintenanceProgress(step=step)) as heartbeat:
            return self._knowledge.maintenance.run_step(step, heartbeat.update, activity.is_cancelled)
