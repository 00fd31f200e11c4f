"""Read and write `stack.json`, the record of a home's stack processes.

A process is identified by its id and start time, so that a reused process id is recognised as stale. The record
holds no secret: settings are stored as a keyed hash (`stack/fingerprint.py`).
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tenure.installation import PROGRAM
from tenure.private_files import open_private
from tenure.temporal.stack.errors import StackError

FILE = "stack.json"
FORMAT = 2
"""Version of the format; raised when an older Tenure could not read the record."""


class ProcessRecord(BaseModel):
    """Record of one started process."""

    model_config = ConfigDict(frozen=True)

    pid: int = Field(gt=0)
    created: float
    """Start time as psutil reports it, in seconds since the epoch."""


class DrainingWorker(BaseModel):
    """Worker of an earlier version, which finishes the runs that began under it."""

    model_config = ConfigDict(frozen=True)

    build_id: str
    """Version of the worker."""
    process: ProcessRecord
    fingerprint: str
    """Keyed hash of the settings the worker was started with."""


class SiteRecord(BaseModel):
    """Record of the process that serves the page."""

    model_config = ConfigDict(frozen=True)

    process: ProcessRecord
    port: int
    state: str
    """Keyed hash of the settings and the code that it was started with."""


class LocalModelRecord(BaseModel):
    """Record of the process that serves the home's own model."""

    model_config = ConfigDict(frozen=True)

    process: ProcessRecord
    name: str
    port: int
    state: str
    """Identity of the file and the options that it was started with."""


class StackRecord(BaseModel):
    """Processes of a home's stack as last started."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    tenure: str = ""
    """Version of Tenure that the worker runs."""
    server: ProcessRecord | None = None
    worker: ProcessRecord | None = None
    """Worker of the current version."""
    build_id: str = ""
    """Version of the worker; empty if it takes part in no versioning."""
    draining: tuple[DrainingWorker, ...] = ()
    """Workers of earlier versions, by build id."""
    site: SiteRecord | None = None
    """Process of the page, or None if none was started."""
    local_model: LocalModelRecord | None = None
    """Process of the local model, or None if none was started."""
    port: int = 0
    ui_port: int = 0
    binary: str = ""
    """Identity of the server's binary: path, size and modification time."""
    fingerprint: str = ""
    """Keyed hash of the settings the worker was started with."""
    owners: str = ""
    """Digest of the owners with which the stack was started; empty without owners."""
    source: str = ""
    """Hash of the code the worker was started with."""

    @property
    def workers(self) -> tuple[ProcessRecord, ...]:
        """All workers, the current version's first."""
        return tuple(filter(None, (self.worker, *(worker.process for worker in self.draining))))


def load(home: Path) -> StackRecord:
    """Return the record of a home, an empty one if no stack was started.

    Raises:
        StackError: the record cannot be read, or a newer Tenure wrote it.
    """
    path = home / FILE
    try:
        record = StackRecord.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return StackRecord()
    except NotADirectoryError as error:
        raise StackError(f"{home} is not a folder: set TENURE_HOME to a folder you can write") from error
    except OSError as error:
        raise StackError(f"{path} cannot be read ({error.strerror}): make it readable or set TENURE_HOME") from error
    except ValidationError as error:
        raise StackError(f"{path} is damaged: run `{PROGRAM} down`, which clears it, then `up`") from error
    if record.format > FORMAT:
        raise StackError(f"{path} was written by Tenure {record.tenure}, which is newer: stop its stack with that one")
    return record


def save(home: Path, record: StackRecord) -> None:
    """Write the record atomically."""
    path = home / FILE
    draft = path.with_suffix(".json.new")
    with open(draft, "w", encoding="utf-8", opener=open_private) as file:
        file.write(record.model_dump_json(indent=2) + "\n")
    draft.replace(path)


def clear(home: Path) -> None:
    """Delete the record of a home."""
    (home / FILE).unlink(missing_ok=True)
