"""`stack.json`: which processes the stack of a home consists of.

A process is known by its id together with its start time, so that an id the system has given to
somebody else since is recognised as stale. The record holds no secret: settings enter it as a keyed
hash only (see `tenure.temporal.stack.fingerprint`).
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tenure.temporal.stack.errors import StackError

FILE = "stack.json"
FORMAT = 1
"""Raised when an older Tenure could no longer read the record."""


class ProcessRecord(BaseModel):
    """A process the stack started."""

    model_config = ConfigDict(frozen=True)

    pid: int = Field(gt=0)
    created: float
    """Start time as psutil reports it, seconds since the epoch."""


class StackRecord(BaseModel):
    """The stack of a home as it was last started."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    tenure: str = ""
    """Version of Tenure the worker runs."""
    server: ProcessRecord | None = None
    worker: ProcessRecord | None = None
    port: int = 0
    ui_port: int = 0
    binary: str = ""
    """Identity of the server's binary: path, size and time of change."""
    fingerprint: str = ""
    """Keyed hash of the settings the worker was started with."""
    source: str = ""
    """Hash of the code the worker was started from."""


def load(home: Path) -> StackRecord:
    """Return the record of a home, an empty one where no stack was started.

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
        raise StackError(f"{path} is damaged: run `python client.py down`, which clears it, then `up`") from error
    if record.format > FORMAT:
        raise StackError(f"{path} was written by Tenure {record.tenure}, which is newer: stop its stack with that one")
    return record


def save(home: Path, record: StackRecord) -> None:
    """Write the record in one step, so that a reader never sees half of it."""
    path = home / FILE
    draft = path.with_suffix(".json.new")
    draft.write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
    draft.replace(path)


def clear(home: Path) -> None:
    """Forget the stack of a home."""
    (home / FILE).unlink(missing_ok=True)
