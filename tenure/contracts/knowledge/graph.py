"""Requests and replies for the entity graph of a corpus."""

from typing import Final, Literal

from pydantic import Field

from tenure.contracts.base import ChunkId, Contract, SourceId

EntityKind = Literal["concept", "code", "name"]
"""Type of an entity: a noun phrase, an identifier in code, or a name."""

CO_OCCURRENCE: Final = "co-occurs with"
"""Predicate of two entities in the same sentence whose relation no fact states."""


class RelatedRequest(Contract):
    """Request for the relations of an entity."""

    entity: str
    """Name, term or identifier."""
    corpora: tuple[str, ...] = Field(min_length=1)
    limit: int = Field(default=20, ge=1, le=200)


class RelationEvidence(Contract):
    """A sentence that states a relation of two entities."""

    chunk: ChunkId
    source: SourceId
    title: str
    uri: str
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
