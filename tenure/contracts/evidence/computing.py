"""Computing from tables: what a program in the sandbox reads of them, and what is kept of what it printed."""

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.evidence.passages import PassageRef

LONGEST_INPUTS = 180_000
"""Bytes of all tables that lie beside one program: they travel with it in one payload."""


class TableFileRequest(Contract):
    """One SELECT whose result becomes a file of comma-separated values."""

    sql: str = Field(min_length=1)
    """The statement."""
    corpora: tuple[str, ...]
    """Names of the corpora whose tables it may read."""
    databases: tuple[str, ...] = ()
    """Names of databases of the settings."""
    most: int = Field(default=LONGEST_INPUTS, ge=0)
    """Bytes that the file may have."""


class TableFileReply(Contract):
    """A table as a file, whole or not at all: figures of a part of it would be false."""

    text: str = ""
    """The file: a line with the names of the columns, then one for each row."""
    read: tuple[str, ...] = ()
    """The tables it was read from."""
    problem: str = ""
    """Why there is none; empty where there is one."""


class ProgramInput(Contract):
    """A table that lay beside a program."""

    name: str
    """Name of the file."""
    sql: str
    """The statement that brought it."""
    read: tuple[str, ...] = ()
    """The tables it was read from."""


class FailedProgram(Contract):
    """A program that brought nothing, and why."""

    inputs: tuple[str, ...]
    """The statements of its inputs."""
    code: str
    """The program."""
    problem: str
    """Why it failed."""


class ComputationRequest(Contract):
    """What a program has printed, to be kept as a source that can be cited."""

    question: str
    """The question that it belongs to; the relevance of what was printed is measured on it."""
    title: str
    """What it shows; the title of the source."""
    inputs: tuple[ProgramInput, ...] = Field(min_length=1)
    """What it read."""
    code: str
    """The program."""
    printed: str
    """What it printed."""
    artifacts: tuple[str, ...] = ()
    """Names of the files it made."""
    corpora: tuple[str, ...]
    """Names of the corpora whose tables it was given."""
    databases: tuple[str, ...] = ()
    """Names of databases."""


class ComputationReply(Contract):
    """What was kept."""

    passages: tuple[PassageRef, ...] = ()
    """The passages of what was printed; none where the tables have gone since."""
