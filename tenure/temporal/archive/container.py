"""Define the format of an archive: the histories of a run and of its child workflows as the server recorded them.

An archive is one gzip member, so that archives of several runs are joined by writing one after the other. Its content
is a line of JSON, `ArchiveHeader`, followed by the histories as protobuf messages `temporal.api.history.v1.History`.
Payloads stay encoded, so an archive reveals no more than the server that recorded it. Archives may come from strangers:
sizes are bounded before anything is decompressed, and a description is derived from the histories themselves.
"""

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, BinaryIO, Final, Literal

from google.protobuf.message import DecodeError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from temporalio.api.history.v1 import History, HistoryEvent

from tenure.temporal.histories import ENDINGS

FORMAT: Final = "tenure-run"
VERSION: Final = 1
MAX_RUN_BYTES: Final = 256 << 20
"""Maximum size of all histories of a run."""
MAX_FILE_BYTES: Final = 1 << 30
"""Maximum size of all histories of a file."""
MAX_HEADER_BYTES: Final = 4 << 20
MAX_EXECUTIONS: Final = 20_000
"""Maximum number of executions of a run."""

_MAX_SECONDS: Final = 250_000_000_000
"""Latest time of an event in seconds since the epoch; later ones are no dates."""
_WORKFLOW_ID: Final = r"^[^\s\x00-\x1f]{1,1000}$"
_EXECUTION_ID: Final = r"^[0-9A-Za-z-]{1,64}$"

WorkflowId = Annotated[str, StringConstraints(pattern=_WORKFLOW_ID)]
ExecutionId = Annotated[str, StringConstraints(pattern=_EXECUTION_ID)]


class ArchiveError(Exception):
    """An archive is malformed or too large; the message completes the sentence "the archive …"."""


class ExecutionEntry(BaseModel):
    """Entry of an execution in the header of an archive."""

    model_config = ConfigDict(frozen=True, strict=True)

    workflow: WorkflowId
    """Workflow id."""
    run: ExecutionId
    """Id of the execution."""
    bytes: Annotated[int, Field(ge=0, le=MAX_RUN_BYTES)]
    """Size of its history."""


class ArchiveHeader(BaseModel):
    """First line of an archive."""

    model_config = ConfigDict(frozen=True, strict=True)

    format: Literal["tenure-run"]
    """Name of the format."""
    version: Literal[1]
    """Version of the format."""
    id: WorkflowId
    """Workflow id of the run."""
    execution: ExecutionId
    """Execution that ended the run."""
    executions: Annotated[list[ExecutionEntry], Field(min_length=1, max_length=MAX_EXECUTIONS)]
    """All executions, in the order of their histories."""


@dataclass(frozen=True)
class RunTree:
    """Histories of a run, its continuations and its children."""

    id: str
    """Workflow id of the run."""
    execution: str
    """Execution that ended the run."""
    histories: dict[tuple[str, str], History] = field(default_factory=dict)
    """History of each execution by workflow id and execution id; the executions of a workflow are in order."""

    @property
    def last_history(self) -> History:
        """History of the execution that ended the run."""
        return self.histories[self.id, self.execution]

    @property
    def event_count(self) -> int:
        """Number of all events."""
        return sum(len(history.events) for history in self.histories.values())


def encode_run(tree: RunTree) -> bytes:
    """Return the archive of a run; equal histories give equal archives.

    Raises:
        ArchiveError: the run is too large.
    """
    parts = [(name, history.SerializeToString(deterministic=True)) for name, history in tree.histories.items()]
    total = sum(len(part) for _, part in parts)
    if total > MAX_RUN_BYTES or len(parts) > MAX_EXECUTIONS:
        raise ArchiveError(f"is too large: {total >> 20:,} MiB in {len(parts):,} histories")
    entries = [ExecutionEntry(workflow=id, run=run, bytes=len(part)) for (id, run), part in parts]
    header = ArchiveHeader(format=FORMAT, version=VERSION, id=tree.id, execution=tree.execution, executions=entries)
    content = b"".join([header.model_dump_json().encode(), b"\n", *(part for _, part in parts)])
    return gzip.compress(content, mtime=0)


def decode_run(archive: bytes) -> RunTree:
    """Return the histories of one archive.

    Raises:
        ArchiveError: it is malformed or too large.
    """
    found = list(iterate_runs(io.BytesIO(archive)))
    if len(found) != 1:
        raise ArchiveError("does not contain exactly one run")
    return found[0]


def iterate_runs(file: BinaryIO) -> Iterator[RunTree]:
    """Yield the runs of a file of one or more archives; the checksum of a run is read after it.

    Raises:
        ArchiveError: an archive is malformed, or the file is too large.
    """
    total = 0
    try:
        with gzip.GzipFile(fileobj=file) as archives:
            while line := archives.readline(MAX_HEADER_BYTES):
                header = _parse_header(line)
                size = sum(entry.bytes for entry in header.executions)
                total += size
                if size > MAX_RUN_BYTES or total > MAX_FILE_BYTES:
                    raise ArchiveError(f"is too large: a run has at most {MAX_RUN_BYTES >> 20:,} MiB")
                content = archives.read(size)
                if len(content) != size:
                    raise ArchiveError("does not have the size that its first line names")
                yield _parse_tree(header, content)
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ArchiveError("is damaged, or no archive of a run") from error
    except EOFError as error:
        raise ArchiveError("is cut off") from error
    if not total:
        raise ArchiveError("is empty")


def _parse_header(line: bytes) -> ArchiveHeader:
    """Return the header of an archive."""
    if re.match(rb'\{"format":"' + FORMAT.encode() + rb'","version":(?!1\b)\d', line):
        raise ArchiveError("was made by a newer version of Tenure: update Tenure first")
    try:
        return ArchiveHeader.model_validate(json.loads(line))
    except (ValueError, RecursionError, ValidationError) as error:
        raise ArchiveError("has no valid first line") from error


def _parse_tree(header: ArchiveHeader, content: bytes) -> RunTree:
    """Return the histories of an archive.

    Raises:
        ArchiveError: they are not histories of the run that the header names.
    """
    tree, at = RunTree(header.id, header.execution), 0
    for entry in header.executions:
        if entry.workflow != header.id and not entry.workflow.startswith(f"{header.id}/"):
            raise ArchiveError(f"contains a workflow of another run, {entry.workflow}")
        try:
            history = History.FromString(content[at : at + entry.bytes])
        except DecodeError as error:
            raise ArchiveError(f"contains a damaged history of {entry.workflow}") from error
        at += entry.bytes
        if not _is_history_of(history, entry):
            raise ArchiveError(f"contains a damaged history of {entry.workflow}")
        tree.histories[entry.workflow, entry.run] = history
    if (tree.id, tree.execution) not in tree.histories or tree.last_history.events[-1].event_type not in ENDINGS:
        raise ArchiveError("does not contain the end of its run")
    return tree


def _is_history_of(history: History, entry: ExecutionEntry) -> bool:
    """Return whether a history starts as that of the workflow of its entry."""
    if not history.events:
        return False
    first: HistoryEvent = history.events[0]
    started = first.workflow_execution_started_event_attributes
    is_named = started.workflow_id in ("", entry.workflow)
    is_dated = all(0 <= event.event_time.seconds <= _MAX_SECONDS for event in history.events)
    return first.HasField("workflow_execution_started_event_attributes") and is_named and is_dated
