"""Maintenance of the knowledge base: what is done to its tables, how far it is, and what came of it."""

from typing import Literal

from tenure.contracts.base import Contract

MaintenanceStep = Literal["compact", "index", "clean"]
"""Join small files; build and refresh indexes; remove old versions."""


class MaintenanceProgress(Contract):
    """How far a step is; travels in heartbeats."""

    step: MaintenanceStep
    """What is being done."""
    table: str = ""
    """The table it is being done to."""
    done: int = 0
    """Tables finished."""
    total: int = 0
    """Tables there are."""


class StepReport(Contract):
    """The outcome of a step."""

    step: MaintenanceStep
    """What was done."""
    tables: int = 0
    """Tables it was done to."""
    changed: int = 0
    """Files that were joined into others, indexes that were built, or versions that were removed."""
    seconds: float = 0.0
    """Wall time."""
    left: tuple[str, ...] = ()
    """Tables it could not be done to, each with the reason; the others were not kept waiting for them."""


class MaintenanceReport(Contract):
    """The outcome of a maintenance."""

    steps: tuple[StepReport, ...] = ()
    """Its steps in order."""
