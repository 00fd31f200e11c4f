"""The base of everything that travels through Temporal.

A contract is immutable, carries references instead of texts wherever a text can be long, and gains
fields only with defaults, so that a history written by an older worker still decodes.
"""

from typing import NewType

from pydantic import BaseModel, ConfigDict

RunId = NewType("RunId", str)
"""A Temporal workflow id; it names the run everywhere, also on disk and in reports."""

SourceId = NewType("SourceId", str)
"""Hash of a source's address and corpus; stable over re-ingestion."""

ChunkId = NewType("ChunkId", str)
"""Hash of a chunk's source, offsets and normalised text; the same text gives the same id."""


class Contract(BaseModel):
    """Base class of every model in a Temporal signature.

    What its fields mean is for readers: finding it out while a process starts would take a third of the start, so
    only what shows it to somebody does (`tenure.report.schema`, answers of roles).
    """

    model_config = ConfigDict(frozen=True)
