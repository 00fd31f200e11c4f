"""Progress and reports of the maintenance of the knowledge base."""

from typing import Literal

from tenure.contracts.base import Contract

MaintenanceStep = Literal["compact", "index", "clean"]
"""Compact small files; build and refresh indexes; remove old versions."""


class MaintenanceProgress(Contract):
    """Progress of a step, sent in heartbeats."""

    step: MaintenanceStep
    """Current step."""
    table: str = ""
    """Current table."""
    done: int = 0
    """Number of finished tables."""
    total: int = 0
    """Number of tables."""


class MaintenanceStepReport(Contract):
    """Result of a step."""

    step: MaintenanceStep
    tables: int = 0
    """Number of processed tables."""
    changed: int = 0
    """Number of files merged, indexes built or versions removed."""
    seconds: float = 0.0
    """Duration."""
    failed_tables: tuple[str, ...] = ()
    """Tables that could not be processed, with the reason; the step continues with the other tables."""
