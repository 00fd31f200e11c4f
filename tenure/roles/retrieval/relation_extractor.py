"""Extract the entities of passages and the relations between them, for the knowledge graph."""

from collections.abc import Sequence
from typing import Protocol

from pydantic import Field

from tenure.algorithms.retrieval.relations import extract_cooccurrences
from tenure.algorithms.text.passage import Passage
from tenure.contracts.knowledge.graph import EntityKind, RelationsKept
from tenure.contracts.messages import Message
from tenure.roles.base import EVIDENCE_RULE, Evidence, RoleInput, RoleOutput, StoredRole, mark_passages, wrap_in_tag
from tenure.roles.prompting import join_parts

SYSTEM = f"""You read passages and write down which things they relate to each other, for a graph that leads from one
document to another.

For every passage give:
- passage: its number.
- entities: the people, organisations, places, works, events, concepts and identifiers in code that a reader might look
  up, each with its kind. Write an entity with the words of the passage, in its fullest form there.
- relations: what the passage says of two of these entities. subject and object are entities of your list. predicate is
  one to five words that read as a sentence between them, in the present tense: "issues", "is part of", "was led by".
  sentence is the sentence of the passage that says it, copied verbatim.

Rules:
- Write down what the passage says, not what you know. A relation whose subject, object or sentence is not in the
  passage, letter by letter, is thrown away.
- Where the sentence has a pronoun, take the entity it stands for, as the passage names it elsewhere.
- Prefer relations that lead somewhere (who made, led, owns, uses, replaces, causes, contains what) to those that any
  text of this kind has. Nothing that is true of every passage, no dates or amounts as entities.
- A passage that relates nothing gets empty lists.

Example. For the passage "The Ost Review is a journal. It is issued by the Ost Society.":
{{"passage": 1,
"entities": [{{"name": "Ost Review", "kind": "work"}}, {{"name": "Ost Society", "kind": "organisation"}}],
"relations": [{{"subject": "Ost Review", "predicate": "is issued by", "object": "Ost Society",
"sentence": "It is issued by the Ost Society."}}]}}

{EVIDENCE_RULE}"""

MAX_PASSAGES = 16
"""Maximum number of passages in one call."""


class RelationExtractorInput(RoleInput):
    """Limits of the extraction."""

    max_relations: int = Field(default=8, ge=1, le=32)
    """Maximum number of relations of a passage."""


class ExtractedEntity(RoleOutput):
    """An entity."""

    name: str = Field(min_length=1, max_length=200)
    """The entity in the words of the passage."""
    kind: EntityKind
    """Kind of the entity; `name` if it has a name and none of the other kinds fits."""


class ExtractedRelation(RoleOutput):
    """A relation between two entities."""

    subject: str = Field(min_length=1, max_length=200)
    """An entity of the passage."""
    predicate: str = Field(min_length=1, max_length=80)
    """One to five words that read as a sentence between the two."""
    object: str = Field(min_length=1, max_length=200)
    """Another entity of the passage."""
    sentence: str = Field(min_length=1, max_length=2000)
    """The sentence that states the relation, verbatim."""


class ExtractedPassage(RoleOutput):
    """Entities and relations of a passage."""

    passage: int
    """Number of the passage, from 1."""
    entities: tuple[ExtractedEntity, ...] = Field(max_length=32)
    """Entities of the passage."""
    relations: tuple[ExtractedRelation, ...] = Field(max_length=64)
    """Relations between them."""


class RelationExtractorOutput(RoleOutput):
    """Entities and relations of the passages."""

    passages: tuple[ExtractedPassage, ...] = Field(max_length=MAX_PASSAGES)
    """One entry for each passage."""


def render(input: RelationExtractorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    wanted = f"At most {input.max_relations} relations for each passage, the most informative ones."
    user = join_parts(mark_passages(evidence.passages), wrap_in_tag("instructions", wanted))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: RelationExtractorInput, evidence: Evidence) -> RelationExtractorOutput:
    """Relate names, noun phrases and identifiers of the same sentence, most frequent first."""
    return RelationExtractorOutput(
        passages=tuple(
            _extract_passage(number, passage.text, input.max_relations)
            for number, passage in enumerate(evidence.passages[:MAX_PASSAGES], 1)
        )
    )


def _extract_passage(number: int, text: str, most: int) -> ExtractedPassage:
    found = extract_cooccurrences(text)
    return ExtractedPassage(
        passage=number,
        entities=tuple(ExtractedEntity(name=one.name[:200], kind=one.kind) for one in found.entities.values()),
        relations=tuple(
            ExtractedRelation(
                subject=held.subject[:200],
                predicate=held.predicate,
                object=held.object[:200],
                sentence=text[held.start : held.end][:2000],
            )
            for held in list(found.relations.values())[:most]
        ),
    )


class RelationStore(Protocol):
    """Store for extracted relations."""

    def store_statements(
        self, model: str, passages: Sequence[Passage], output: RelationExtractorOutput
    ) -> RelationsKept:
        """Store the relations that the passages really contain; `model` is empty for the fallback."""


def store(
    knowledge: RelationStore, model: str, passages: Sequence[Passage], output: RelationExtractorOutput
) -> RelationsKept:
    """Store the relations in the knowledge base and return their numbers: they are too large for a reply."""
    return knowledge.store_statements(model, passages, output)


ROLE = StoredRole(
    "relation_extractor",
    "fast",
    RelationExtractorInput,
    RelationExtractorOutput,
    render,
    fallback,
    store,
    RelationsKept,
)
