"""Relation extractor: which entities passages are about, and what they say of them (document 003, graph retrieval)."""

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.retrieval.relations import beside
from tenure.contracts.knowledge.graph import EntityKind
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import joined

SYSTEM = f"""You read passages and write down which things they relate to each other, for a graph that leads from one
document to another.

For every passage give:
- passage: its number.
- entities: the people, organisations, places, works, events, concepts and identifiers in code that a reader might look
  up, each with its kind. Write an entity with the words of the passage, in its fullest form there.
- relations: what the passage says of two of these entities. subject and object are entities of your list. predicate is
  one to five words that read as a sentence between them, in the present tense: "issues", "is part of", "was led by".
  sentence is the sentence of the passage that says it, copied to the letter.

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

MOST_PASSAGES = 16
"""Passages of one call at the most."""


class RelationExtractorInput(RoleInput):
    """How much is wanted."""

    most: int = Field(default=8, ge=1, le=32)
    """Relations of one passage at the most."""


class ExtractedEntity(BaseModel):
    """An entity."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str = Field(min_length=1, max_length=200)
    """The entity in the words of the passage."""
    kind: EntityKind
    """What it is; `name` if it has a name and none of the other kinds fits."""


class ExtractedRelation(BaseModel):
    """What a passage says of two entities."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    subject: str = Field(min_length=1, max_length=200)
    """An entity of the passage."""
    predicate: str = Field(min_length=1, max_length=80)
    """One to five words that read as a sentence between the two."""
    object: str = Field(min_length=1, max_length=200)
    """Another entity of the passage."""
    sentence: str = Field(min_length=1, max_length=2000)
    """The sentence that says it, to the letter."""


class ReadPassage(BaseModel):
    """What a passage relates."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    passage: int
    """Number of the passage, from 1."""
    entities: tuple[ExtractedEntity, ...] = Field(max_length=32)
    """What it is about."""
    relations: tuple[ExtractedRelation, ...] = Field(max_length=64)
    """What it says of them."""


class RelationExtractorOutput(RoleOutput):
    """What the passages relate."""

    passages: tuple[ReadPassage, ...] = Field(max_length=MOST_PASSAGES)
    """One for each passage."""


def render(input: RelationExtractorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    wanted = f"At most {input.most} relations for each passage, the most telling ones."
    user = joined(mark_passages(evidence.passages), tagged("instructions", wanted))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: RelationExtractorInput, evidence: Evidence) -> RelationExtractorOutput:
    """Relate what stands in one sentence: names, noun phrases and identifiers, those of most sentences first."""
    return RelationExtractorOutput(
        passages=tuple(
            _read(number, passage.text, input.most)
            for number, passage in enumerate(evidence.passages[:MOST_PASSAGES], 1)
        )
    )


def _read(number: int, text: str, most: int) -> ReadPassage:
    found = beside(text)
    return ReadPassage(
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


ROLE = Role("relation_extractor", "fast", RelationExtractorOutput, render, offline)
