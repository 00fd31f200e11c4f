"""The dossier: passages that everybody who writes or reviews a report reads, numbered for the life of the run."""

from pydantic import Field

from tenure.contracts.base import ChunkId, Contract
from tenure.contracts.evidence.passages import PassageRef


class Dossier(Contract):
    """Append-only list of passages; the number of a passage is its position, from 1, and never changes."""

    passages: tuple[PassageRef, ...] = ()
    """The passages: each addition in reading order, document by document."""
    parts: dict[str, tuple[int, ...]] = {}
    """Numbers of the passages found for each part of the question, best first, by heading."""
    tokens: int = Field(default=0, ge=0)
    searches: dict[str, tuple[int, ...]] = {}
    """Numbers of the passages found by each search for a gap, best first, by its query."""
    omitted: tuple[ChunkId, ...] = ()
    """Passages that were found and did not fit, each once."""

    def get_part(self, heading: str) -> tuple[PassageRef, ...]:
        """Return the passages of a part, best first."""
        return tuple(self.passages[number - 1] for number in self.parts.get(heading, ()))


class Gap(Contract):
    """A point that a report calls unknown or lacks."""

    statement: str = ""
    """Sentence or cell that says so; empty for none."""
    query: str
    """Search in words of a text that would state it."""
    max_passages: int = Field(default=5, ge=1)
    """Passages that may be added for it, apart from one for each of its names."""


class PartPassages(Contract):
    """Passages found for a part of the question."""

    heading: str
    passages: tuple[PassageRef, ...]
    """The passages, best first."""
    decisive: int = 0
    """Number of the first ones that precede the other passages of all parts: those that a model named, cited or
    requested, and results of computations."""
    gap: Gap | None = None
    """Gap for which they were found; passages with its names and rare words are added. None for other searches."""


class DossierRequest(Contract):
    """Addition of passages to a dossier."""

    dossier: Dossier
    found: tuple[PartPassages, ...]
    """Results of searches, by part."""
    corpora: tuple[str, ...] = ()
    """Corpora whose passages are compared with the words of gaps."""
    max_tokens: int = Field(ge=1)
    """Tokens that the dossier may have afterwards."""
