"""Progress and reports of the maintenance of the knowledge base."""

from typing import Literal

from tenure.contracts.base import Contract

MaintenanceStep = Literal["compact", "index", "clean"]
"""Compact small files; build and refresh indexes; remove old versions."""


class UpkeepProgress(Contract):
    """Progress of the maintenance, of the consolidation of memories or of archiving, sent in heartbeats."""

    step: str = ""
    """Current step; empty for archiving, which has one."""
    table: str = ""
    """Current table of a maintenance."""
    done: int = 0
    """Number of processed tables, memories or runs."""
    total: int = 0
    """Number of those to process."""


class UpkeepReport(Contract):
    """Result of a step of the maintenance or of the consolidation of memories."""

    step: str
    processed: int = 0
    """Number of processed tables or memories."""
    changed: int = 0
    """Number of files merged, indexes built or versions removed, or of memories rewritten, created or deleted."""
    seconds: float = 0.0
    failed_tables: tuple[str, ...] = ()
    """Tables that could not be processed, with the reason; the step continues with the other tables."""
