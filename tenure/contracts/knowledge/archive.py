"""Archive of finished runs: descriptions of runs, requests and replies of activities."""

from datetime import datetime

from pydantic import ConfigDict

from tenure.contracts.base import Contract, RunId


class ArchiveRequest(Contract):
    """Request to archive a run when it has ended."""

    run: RunId
    execution: str
    """Id of the execution that ends the run."""


class ArchiveReport(Contract):
    """Result of archiving all ended runs."""

    archived: int = 0
    """Number of runs that were archived now."""
    known: int = 0
    """Number of runs that were archived before."""
    failed: tuple[str, ...] = ()
    """Runs that could not be archived, with the reason."""
    began: datetime | None = None
    """Time before the first run was listed."""
    all_listed: datetime | None = None
    """Time of the last sweep that listed all runs."""


class RunDescription(Contract):
    """Description of an archived run."""

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    execution: str
    """Id of the execution that ended the run."""
    id: str
    type: str
    status: str
    """Status of the run; empty for a completed workflow without a status."""
    phase: str
    """Last phase; empty for workflows without phases."""
    mode: str
    """Mode; empty for workflows without one."""
    owner: str
    """Owner for the fair sharing of workers; empty for none."""
    started_at: str
    """Start time, ISO 8601 in UTC."""
    closed_at: str
    """End time, ISO 8601 in UTC."""
    question: bytes
    """Question as the payload that Temporal stores; empty for none."""
