"""Base classes and ids of the data that Temporal transports.

A contract is immutable, holds references instead of long texts, and gains new fields only with defaults, so that
histories written by an older worker can still be decoded.
"""

from typing import NewType

from pydantic import BaseModel, ConfigDict

RunId = NewType("RunId", str)
"""Temporal workflow id; it also names the run on disk and in reports."""

SourceId = NewType("SourceId", str)
"""Hash of a source's URI and corpus; stable when the source is ingested again."""

ChunkId = NewType("ChunkId", str)
"""Hash of a chunk's source, offsets and normalised text; the same text gives the same id."""


class Contract(BaseModel):
    """Base class of all models in Temporal signatures.

    Field docstrings are not read at import, since that would cost a third of a process's start time; only code that
    shows them does so (`.ci/reference.py`, role schemas).
    """

    model_config = ConfigDict(frozen=True)
