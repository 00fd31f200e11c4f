"""Define the format of an archive: request, result, records and checkpoints of one finished run.

An archive is one gzip member that holds a line of JSON, `ArchivedDocument`, so that archives of several runs are joined
by writing one after the other. Payloads stay encoded, so an archive reveals no more than the server that recorded it.
Archives may come from strangers: sizes are bounded before anything is decompressed.
"""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, BinaryIO, Final, Literal

from google.protobuf.message import DecodeError
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DataConverter

from tenure.contracts.knowledge.archive import RunDescription
from tenure.contracts.research.trace import WorkflowStatus
from tenure.temporal.histories import Checkpoints, RunEnd

FORMAT: Final = "tenure-run"
VERSION: Final = 1
MAX_RUN_BYTES: Final = 128 << 20
"""Maximum size of a run: 100 checkpoints of 1 MB."""
MAX_FILE_BYTES: Final = 1 << 30
"""Maximum size of all runs of a file."""

_HEAD: Final = b'{"format":"tenure-run","version":'
_MAX_ATTRIBUTE_LENGTH: Final = 200
_WORKFLOW_ID: Final = r"^[^\s\x00-\x1f]{1,1000}$"
_EXECUTION_ID: Final = r"^[0-9A-Za-z-]{1,64}$"

WorkflowId = Annotated[str, StringConstraints(pattern=_WORKFLOW_ID)]


class ArchiveError(Exception):
    """An archive is malformed or too large; the message completes the sentence "the archive …"."""


class ArchivedDocument(BaseModel):
    """Content of the archive for a finished run; payloads are protobuf messages as the server has stored them."""

    model_config = ConfigDict(frozen=True, strict=True, ser_json_bytes="base64", val_json_bytes="base64")

    format: Literal["tenure-run"] = FORMAT
    """Name of the format."""
    version: Literal[1] = VERSION
    """Version of the format."""
    description: RunDescription
    end: WorkflowStatus
    """Status on the server."""
    priority_key: int = 0
    """Priority; 0 for the default."""
    fairness_key: str = ""
    """Key of the fair sharing of workers; empty for none."""
    request: bytes
    result: bytes | None = None
    """Result; None if there is none."""
    failure: bytes | None = None
    """Failure of a failed run."""
    reason: str = ""
    """Reason of a person for the termination."""
    story: bytes | None = None
    """Story of a run without a result; None if no worker has reported it, or the result contains it."""
    research: bytes | None = None
    """Request of the research; None if it has not started."""
    cycles: tuple[bytes, ...] = ()
    """Checkpoints of the research cycles."""
    runs: tuple[WorkflowId, ...] = ()
    """Ids of the runs that a batch has started."""

    @model_validator(mode="after")
    def _check(self) -> "ArchivedDocument":
        """Check what other code relies on: ids, times, and messages that can be parsed."""
        described = self.description
        assert self.end != "running", "no end"
        assert re.fullmatch(_WORKFLOW_ID, described.id), "no workflow id"
        assert re.fullmatch(_EXECUTION_ID, described.execution), "no execution id"
        for text in (described.type, described.status, described.phase, described.mode, described.owner):
            assert len(text) <= _MAX_ATTRIBUTE_LENGTH, "too long"
        for moment in (described.started_at, described.closed_at):
            assert datetime.fromisoformat(moment).tzinfo, "no time zone"
        try:
            for message in (self.request, self.result, self.story, self.research, *self.cycles, described.question):
                Payload.FromString(message or b"")
            Failure.FromString(self.failure or b"")
        except DecodeError as error:
            raise ValueError("damaged message") from error
        return self


class ArchivedRunSource:
    """Finished run in an archive."""

    def __init__(self, document: ArchivedDocument, converter: DataConverter) -> None:
        self._document, self._converter = document, converter

    @property
    def converter(self) -> DataConverter:
        """Data converter that decodes the payloads."""
        return self._converter

    async def fetch_request(self) -> Payload:
        """Return the request."""
        return Payload.FromString(self._document.request)

    async def fetch_end(self) -> RunEnd:
        """Return the end."""
        document = self._document
        failure = None if document.failure is None else Failure.FromString(document.failure)
        return RunEnd(document.end, _parse(document.result), failure, document.reason)

    async def fetch_checkpoints(self) -> Checkpoints:
        """Return the checkpoints."""
        cycles = tuple(map(Payload.FromString, self._document.cycles))
        return Checkpoints(_parse(self._document.research), cycles)

    async def fetch_story(self) -> Payload | None:
        """Return the story of a run without a result; None if it was not kept."""
        return _parse(self._document.story)


def _parse(message: bytes | None) -> Payload | None:
    return None if message is None else Payload.FromString(message)


def encode_run(document: ArchivedDocument) -> bytes:
    """Return the archive of a run; equal runs give equal archives.

    Raises:
        ArchiveError: the run is too large.
    """
    line = document.model_dump_json().encode() + b"\n"
    if len(line) > MAX_RUN_BYTES:
        raise ArchiveError(f"is too large: {len(line) >> 20:,} MiB")
    return gzip.compress(line, mtime=0)


def decode_run(archive: bytes) -> ArchivedDocument:
    """Return the run of one archive.

    Raises:
        ArchiveError: it is malformed or too large.
    """
    documents = list(iterate_runs(io.BytesIO(archive)))
    if len(documents) != 1:
        raise ArchiveError("does not contain exactly one run")
    return documents[0]


def iterate_runs(file: BinaryIO) -> Iterator[ArchivedDocument]:
    """Yield the runs of a file of one or more archives; the checksum of a run is read after it.

    Raises:
        ArchiveError: an archive is malformed, or the file is too large.
    """
    total = 0
    try:
        with gzip.GzipFile(fileobj=file) as archives:
            while head := archives.read(len(_HEAD)):
                if head != _HEAD:
                    raise ArchiveError("is not that of a run")
                line = head + archives.readline(MAX_RUN_BYTES + 1)
                total += len(line)
                if len(line) > MAX_RUN_BYTES or total > MAX_FILE_BYTES:
                    raise ArchiveError(f"is too large: a run has at most {MAX_RUN_BYTES >> 20:,} MiB")
                yield _parse_document(line)
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ArchiveError("is damaged, or no archive of a run") from error
    except EOFError as error:
        raise ArchiveError("is cut off") from error
    if not total:
        raise ArchiveError("is empty")


def _parse_document(line: bytes) -> ArchivedDocument:
    if re.match(rb"(?!1\b)\d", line[len(_HEAD) :]):
        raise ArchiveError("was made by a newer version of Tenure: update Tenure first")
    try:
        return ArchivedDocument.model_validate_json(line)
    except ValidationError as error:
        raise ArchiveError("is not that of a run") from error
