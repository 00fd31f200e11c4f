"""Requests and replies for the entity graph of a corpus."""

from typing import Final, Literal

from pydantic import Field

from tenure.contracts.base import ChunkId, Contract, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.run.budget import BudgetResource
from tenure.contracts.run.run import ControlState, RunLimits, Usage

EntityKind = Literal["person", "organisation", "place", "work", "event", "concept", "code", "name"]
"""Type of an entity; `name` for a named thing of unknown type."""

CO_OCCURRENCE: Final = "co-occurs with"
"""Predicate of two entities in the same sentence whose relation no model has read."""


class RelatedRequest(Contract):
    """Request for the relations of an entity."""

    entity: str
    """Name, term or identifier."""
    corpora: tuple[str, ...] = Field(min_length=1)
    """Corpora to search."""
    limit: int = Field(default=20, ge=1, le=200)
    """Maximum number of relations."""


class RelationEvidence(Contract):
    """A sentence that states a relation of two entities."""

    chunk: ChunkId
    """Id of the chunk."""
    source: SourceId
    """Source of the chunk."""
    title: str
    """Title of the source."""
    uri: str
    """URI of the source."""
    start: int
    """Offset of the sentence's first character in the stored text of the source."""
    end: int
    """Offset after its last character."""
    sentence: str
    """The sentence, verbatim."""


class EntityRelation(Contract):
    """A relation, aggregated over all passages that state it."""

    subject: str
    """Entity, in its most frequent spelling."""
    predicate: str
    """Relation of the subject to the object."""
    object: str
    """Entity, in its most frequent spelling."""
    count: int
    """Number of sentences that state it."""
    passages: int
    """Number of passages that contain these sentences."""
    evidence: tuple[RelationEvidence, ...] = ()
    """Some of the sentences."""


class RelatedReply(Contract):
    """Relations of an entity."""

    entity: str
    """Entity in its most frequent spelling, or as requested if no passage contains it."""
    kind: EntityKind | None = None
    """Type of the entity; None if no passage contains it."""
    passages: int = 0
    """Number of passages that contain a relation of it."""
    relations: tuple[EntityRelation, ...] = ()
    """Relations, most frequent first."""
    similar_entities: tuple[str, ...] = ()
    """Entities that share a word with an unknown one, most frequent first."""
    read_passages: int = 0
    """Number of passages whose relations a model has read."""
    total_passages: int = 0
    """Number of passages of the corpora."""


class RelationsKept(Contract):
    """Result of extracting the relations of some passages."""

    passages: int = 0
    """Number of passages that a model has read."""
    relations: int = 0
    """Number of relations stored."""
    refused: int = 0
    """Number of relations rejected since the passages do not contain them."""


class UnreadRequest(Contract):
    """Request for passages of a corpus that no model has read for relations."""

    corpus: str
    """Name of the corpus."""
    after: str = ""
    """Id of the chunk after which to start."""
    limit: int = Field(default=64, ge=1, le=1024)
    """Maximum number of passages."""


class UnreadReply(Contract):
    """Passages that no model has read."""

    passages: tuple[PassageRef, ...] = ()
    """Some of the passages, ordered by id."""
    remaining: int = 0
    """Number of unread passages after the given chunk, these included."""
    total: int = 0
    """Number of passages of the corpus."""


class RelateReport(Contract):
    """Progress and result of extracting the relations of a corpus with a model."""

    corpus: str
    """Name of the corpus."""
    total: int = 0
    """Number of passages of the corpus."""
    unread: int = 0
    """Number of passages that no model has read."""
    passages: int = 0
    """Number of passages read by this workflow."""
    relations: int = 0
    """Number of relations stored."""
    refused: int = 0
    """Number of relations rejected since the passages do not contain them."""
    usage: Usage = Usage()
    """Model usage."""
    stop_reason: Literal["", "complete", "no model", "stopped"] | BudgetResource = ""
    """Reason for its end: all passages are read, there is no chat model, a person stopped it, or a budget is
    exhausted."""


class RelateRequest(Contract):
    """Request to extract the relations of a corpus with a model."""

    corpus: str
    """Name of the corpus."""
    limits: RunLimits = RunLimits()
    """Limits of calls, tokens and cost."""
    passages_per_call: int = Field(default=8, ge=1, le=16)
    """Number of passages per model call."""
    control: ControlState = ControlState()
    """Control state carried over by continue-as-new."""
    after: str = ""
    """Chunk after which to continue."""
    report: RelateReport | None = None
    """Progress so far."""
