"""Requests and replies for programs that compute results from tables in the sandbox."""

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.evidence.tables import SelectRequest, TableScope

MAX_INPUT_BYTES = 180_000
"""Total size of the tables given to one program, which travel in one payload."""


class TableFileRequest(SelectRequest):
    """A SELECT statement whose result becomes a CSV file."""

    max_bytes: int = Field(default=MAX_INPUT_BYTES, ge=0)
    """Maximum size of the file in bytes."""


class TableFileReply(Contract):
    """Result of a SELECT statement as a CSV file; never truncated, since figures of a part would be wrong."""

    text: str = ""
    """Content of the file: a header line with the column names, then one line per row."""
    tables: tuple[str, ...] = ()
    """Tables that the statement read."""
    problem: str = ""
    """Error message; empty on success."""


class ProgramInput(Contract):
    """A table given to a program as a file."""

    name: str
    sql: str
    """Statement that produced it."""
    tables: tuple[str, ...] = ()
    """Tables that the statement read."""


class FailedProgram(Contract):
    """A program that produced no result, with the reason."""

    inputs: tuple[str, ...]
    """SELECT statements of its inputs."""
    code: str
    problem: str


class ComputationRequest(TableScope):
    """Output of a program that is to be stored as a citable source."""

    question: str
    """Question that the program answers; the relevance of the output is measured against it."""
    title: str
    inputs: tuple[ProgramInput, ...] = Field(min_length=1)
    code: str
    output: str
    artifacts: tuple[str, ...] = ()
    """Names of the files that the program created."""
