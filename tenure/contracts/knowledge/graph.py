"""The graph of a corpus as people and tools ask it: what an entity is related to, and where that is said."""

from typing import Final, Literal

from pydantic import Field

from tenure.contracts.base import ChunkId, Contract, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.run.budget import Resource
from tenure.contracts.run.run import Limits, Stance, Usage

EntityKind = Literal["person", "organisation", "place", "work", "event", "concept", "code", "name"]
"""What an entity is; `name` for something that has a name, where it is not known what it is."""

BESIDE: Final = "beside"
"""The predicate of two entities that stand in one sentence, where nobody has read what the sentence says."""


class RelatedRequest(Contract):
    """What is an entity related to?"""

    entity: str
    """A name, a term or an identifier."""
    corpora: tuple[str, ...] = Field(min_length=1)
    """Where to look."""
    most: int = Field(default=20, ge=1, le=200)
    """Relations wanted."""


class Proof(Contract):
    """A sentence that says something of two entities."""

    chunk: ChunkId
    """The passage."""
    source: SourceId
    """Its source."""
    title: str
    """The source's title."""
    uri: str
    """Where the source is."""
    start: int
    """First character of the sentence in the source's stored text."""
    end: int
    """One past the last."""
    sentence: str
    """The sentence, to the letter."""


class Related(Contract):
    """A relation, over all passages that hold it."""

    subject: str
    """An entity, as it is written most often."""
    predicate: str
    """What the subject does to the object or is for it."""
    object: str
    """Another entity."""
    count: int
    """Sentences that say it."""
    passages: int
    """Passages that these are in."""
    proofs: tuple[Proof, ...] = ()
    """Some of the sentences."""


class RelatedReply(Contract):
    """What an entity is related to."""

    entity: str
    """The entity, as it is written most often; as it was asked for where no passage holds it."""
    kind: EntityKind | None = None
    """What it is; None where no passage holds it."""
    passages: int = 0
    """Passages that hold a relation of it."""
    relations: tuple[Related, ...] = ()
    """The relations, those that most sentences say first."""
    alike: tuple[str, ...] = ()
    """Entities that share a word with one that is not known, the most frequent first."""
    read: int = 0
    """Passages whose relations a model has read."""
    of: int = 0
    """Passages of the corpora."""


class RelationsKept(Contract):
    """What came of reading the relations of some passages."""

    passages: int = 0
    """Passages that a model has read."""
    relations: int = 0
    """Relations that were kept."""
    refused: int = 0
    """Relations that the passages do not hold."""


class UnreadRequest(Contract):
    """Which passages of a corpus has no model read?"""

    corpus: str
    """The corpus."""
    after: str = ""
    """Id of the chunk after which to look."""
    most: int = Field(default=64, ge=1, le=1024)
    """Passages wanted."""


class UnreadReply(Contract):
    """Passages that no model has read."""

    passages: tuple[PassageRef, ...] = ()
    """Some of them, in the order of their ids."""
    left: int = 0
    """How many there are after the one asked for, these included."""
    of: int = 0
    """Passages of the corpus."""


class RelateReport(Contract):
    """How far a model has read a corpus for its relations."""

    corpus: str
    """Name of the corpus."""
    of: int = 0
    """Passages of the corpus."""
    unread: int = 0
    """Passages that no model has read."""
    passages: int = 0
    """Passages that were read by this reading."""
    relations: int = 0
    """Relations that were kept."""
    refused: int = 0
    """Relations that the passages do not hold, and that were not kept."""
    usage: Usage = Usage()
    """What it cost."""
    ending: Literal["", "complete", "no model", "stopped"] | Resource = ""
    """Why it ended: everything is read; there is no chat model; a person said stop; or a budget is used up."""


class RelateRequest(Contract):
    """Have a model read a corpus for its relations."""

    corpus: str
    """Name of the corpus."""
    limits: Limits = Limits()
    """What it may use: calls, tokens, money."""
    passages_per_call: int = Field(default=8, ge=1, le=16)
    """Passages that are read together."""
    stance: Stance = Stance()
    """What people have asked for, where a history is gone on with."""
    after: str = ""
    """The chunk after which it goes on."""
    report: RelateReport | None = None
    """How far it had come."""
