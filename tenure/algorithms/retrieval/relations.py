"""Extract entity co-occurrences from text and check stated relations against it, for the knowledge graph."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.phrases import extract_terms, is_identifier, normalize_term
from tenure.algorithms.text.sentences import Sentence, find_verbatim, split_sentences
from tenure.contracts.knowledge.graph import CO_OCCURRENCE, EntityKind

MAX_PAIRED_ENTITIES = 8
"""Maximum entities of a sentence that are paired; a list of fifty names relates none of them."""
MAX_ENTITIES = 24
MAX_RELATIONS = 40


class EntityMention(NamedTuple):
    """Entity in its first spelling."""

    name: str
    kind: EntityKind


class StatedRelation(NamedTuple):
    """Relation between two entities, with its source sentence."""

    subject: str
    predicate: str
    object: str
    sentence: str


class GroundedRelation(NamedTuple):
    """Relation that a text states."""

    subject: str
    predicate: str
    object: str
    sentence_count: int
    """Number of sentences that state it."""
    start: int
    """Start offset of the first such sentence."""
    end: int
    """End offset of that sentence."""


EntityPair = tuple[str, str]
"""Keys of two entities in alphabetical order, because co-occurrence has no direction."""

EntityPairCounts = Mapping[EntityPair, int]
"""Number of sentences that two entities share."""


class Cooccurrences(NamedTuple):
    """Entities of a text and their co-occurrences."""

    entities: dict[str, EntityMention]
    """Entities by key, in order of appearance."""
    relations: dict[EntityPair, GroundedRelation]
    """Pairs, most shared sentences first, then in order of appearance."""

    @property
    def phrases(self) -> tuple[str, ...]:
        """Keys of the entities that are not names."""
        return tuple(key for key, entity in self.entities.items() if entity.kind != "name")

    @property
    def pairs(self) -> EntityPairCounts:
        """Number of sentences that each pair shares."""
        return {pair: relation.sentence_count for pair, relation in self.relations.items()}


def sort_pair(a: str, b: str) -> EntityPair:
    """Return two keys as an ordered pair."""
    return (a, b) if a <= b else (b, a)


def extract_cooccurrences(text: str) -> Cooccurrences:
    """Extract the entities of a text, and the number of sentences that each pair shares."""
    entities: dict[str, EntityMention] = {}
    counts = Counter[EntityPair]()
    first: dict[EntityPair, tuple[str, str, Sentence]] = {}
    for sentence in split_sentences(text):
        sentence_entities = _extract_entities(sentence.text)
        for name, entity in sentence_entities.items():
            if len(entities) < MAX_ENTITIES:
                entities.setdefault(name, entity)
        present = [name for name in sentence_entities if name in entities]
        for a, b in combinations(present[:MAX_PAIRED_ENTITIES], 2):
            if a in b and f" {a} " in f" {b} ":  # "the river Zenne" contains "Zenne"
                continue
            key = sort_pair(a, b)
            counts[key] += 1
            first.setdefault(key, (a, b, sentence))
    relations = {}
    for key, count in counts.most_common(MAX_RELATIONS):
        a, b, sentence = first[key]
        relations[key] = GroundedRelation(
            entities[a].name, CO_OCCURRENCE, entities[b].name, count, sentence.start, sentence.end
        )
    return Cooccurrences(entities, relations)


def filter_grounded_relations(text: str, statements: Iterable[StatedRelation]) -> tuple[GroundedRelation, ...]:
    """Return the stated relations that a text contains, without duplicates and with their sentences counted.

    A relation is rejected if its sentence or one of its entities does not occur in the text.
    """
    grounded: dict[tuple[str, str, str], dict[tuple[int, int], StatedRelation]] = {}
    for statement in statements:
        span, *entities = (
            find_verbatim(text, words, ignore_case=True)
            for words in (statement.sentence, statement.subject, statement.object)
        )
        predicate = " ".join(statement.predicate.lower().split())
        if span and predicate and all(entities):
            subject, object_ = normalize_term(statement.subject), normalize_term(statement.object)
            if subject and object_ and subject != object_:
                grounded.setdefault((subject, predicate, object_), {}).setdefault(span, statement)
    relations: list[GroundedRelation] = []
    for sentences in grounded.values():
        (start, end), first = min(sentences.items())
        subject, predicate, object_ = (" ".join(part.split()) for part in first[:3])
        relations.append(GroundedRelation(subject, predicate, object_, len(sentences), start, end))
    return tuple(relations)


def _extract_entities(sentence: str) -> dict[str, EntityMention]:
    """Return the entities of a sentence by key, names first; a term inside a name is not an entity."""
    names = extract_entity_spellings(sentence)
    entities = {name: EntityMention(spelling, "name") for name, spelling in names.items()}
    for term in extract_terms(sentence):
        name = normalize_term(term)
        if not any(name in other and f" {name} " in f" {other} " for other in names):
            entities[name] = EntityMention(term, "code" if is_identifier(term) else "concept")
    return entities
