"""Answer which relations an entity has, with the sentences that state them.

Co-occurrences come from `mentions`, facts from `statements`. Sentences are not stored twice: they are
found again in the texts of the passages.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenure.algorithms.retrieval.relations import extract_cooccurrences, sort_pair
from tenure.algorithms.text.entities import normalize_name
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.phrases import normalize_term
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.knowledge.graph import (
    CO_OCCURRENCE,
    EntityKind,
    EntityRelation,
    RelatedReply,
    RelatedRequest,
    RelationEvidence,
)
from tenure.knowledge.graph.graph import TAB
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.schema import ENTITIES, MENTIONS, STATEMENTS
from tenure.knowledge.store.store import Store, quote_list, quote_literal

MAX_EVIDENCE_SENTENCES = 3
"""Sentences returned for a relation."""
MAX_SIMILAR_ENTITIES = 10
"""Entities suggested if the requested one is unknown."""
MAX_ENTITY_CHARACTERS = 200

_RelationKey = tuple[str, str, str]
"""Normalized subject, predicate and object."""


@dataclass
class _RelationGroup:
    """One relation over all its passages."""

    predicate: str
    count: int = 0
    chunks: list[tuple[int, str]] = field(default_factory=list)
    """(−sentences, chunk) of each chunk with the relation, so that sorting puts the chunk with most sentences first."""
    statements: dict[str, dict[str, Any]] = field(default_factory=dict)
    """First statement of each chunk."""

    def add(self, chunk: str, times: int, statement: dict[str, Any] | None = None) -> None:
        self.count += times
        self.chunks.append((-times, chunk))
        if statement is not None:
            self.statements.setdefault(chunk, statement)

    @property
    def best_chunks(self) -> list[str]:
        """Chunks with most sentences that state the relation."""
        return [chunk for _, chunk in sorted(set(self.chunks))[:MAX_EVIDENCE_SENTENCES]]


class KnowledgeGraph:
    """Entities and relations of one store, with chunks of `dimensions` components; safe to share between threads."""

    def __init__(self, store: Store, dimensions: int) -> None:
        self._store, self._dimensions = store, dimensions

    def find_relations(self, request: RelatedRequest) -> RelatedReply:
        """Return the relations of an entity, facts before co-occurrences."""
        keys = _build_keys(request.entity)
        records = [catalogue.load_corpus(self._store, name).corpus for name in dict.fromkeys(request.corpora)]
        condition = f"corpus IN {quote_list(records)}"
        groups = _group_relations(self._store, condition, keys)
        ordered = sorted(groups.items(), key=lambda item: (item[1].predicate == CO_OCCURRENCE, -item[1].count, item[0]))
        selected = dict(ordered[: request.limit])
        sources = _load_sources(self._store, condition, keys)
        chunks = list(dict.fromkeys(chunk for group in selected.values() for chunk in group.best_chunks))
        refs = [PassageRef(chunk=ChunkId(chunk), source=sources[chunk], score=0.0, relevance=0.0) for chunk in chunks]
        texts = {
            str(passage.chunk): passage for passage in catalogue.load_passages(self._store, self._dimensions, refs)
        }
        spellings = _Spellings(keys, texts)
        return RelatedReply(
            entity=spellings.find_name(keys) or request.entity,
            kind=spellings.find_kind(),
            passages=len({chunk for group in groups.values() for _, chunk in group.chunks}),
            relations=tuple(_to_relation(identity, group, spellings) for identity, group in selected.items()),
            similar_entities=() if groups else _find_similar_entities(self._store, condition, keys),
        )


def _build_keys(entity: str) -> tuple[str, ...]:
    if len(entity) > MAX_ENTITY_CHARACTERS:
        raise InvalidSearch(f"an entity has {MAX_ENTITY_CHARACTERS} characters at most, not {len(entity)}")
    keys = tuple(
        dict.fromkeys(filter(None, (normalize_term(entity), normalize_term(entity.lower()), normalize_name(entity))))
    )
    if not keys:
        raise InvalidSearch("the name of the entity contains no word")
    return keys


def _build_mention_condition(condition: str, keys: Sequence[str]) -> str:
    mentions = " OR ".join(f"strpos(cooccurrences, {quote_literal(TAB + key + TAB)}) > 0" for key in keys)
    return f"{condition} AND ({mentions})"


def _load_sources(store: Store, condition: str, keys: Sequence[str]) -> dict[str, SourceId]:
    sources: dict[str, SourceId] = {}
    for table in (MENTIONS, STATEMENTS):
        rows = store.read_rows(table, ["id", "source_id"], _build_mention_condition(condition, keys))
        sources.update(zip(rows["id"].to_pylist(), map(SourceId, rows["source_id"].to_pylist()), strict=True))
    return sources


def _group_relations(store: Store, condition: str, keys: Sequence[str]) -> dict[_RelationKey, _RelationGroup]:
    """Return the relations of an entity: extracted ones, and co-occurrences of pairs without an extracted one."""
    groups: dict[_RelationKey, _RelationGroup] = {}
    for chunk, statement in _read_statements(store, condition, keys):
        ends = normalize_term(statement["subject"]), normalize_term(statement["object"])
        group = groups.setdefault(
            (ends[0], statement["predicate"].lower(), ends[1]), _RelationGroup(statement["predicate"])
        )
        group.add(chunk, statement["count"], statement)
    stated = {frozenset((subject, object_)) for subject, _, object_ in groups}
    rows = store.read_rows(MENTIONS, ["id", "cooccurrences"], _build_mention_condition(condition, keys)).sort_by("id")
    for chunk, lines in zip(rows["id"].to_pylist(), rows["cooccurrences"].to_pylist(), strict=True):
        for line, times in Counter(lines.split("\n")).items():
            _, first, second, _ = line.split(TAB)
            if (first in keys) != (second in keys) and frozenset((first, second)) not in stated:
                ends = (first, second) if first in keys else (second, first)
                groups.setdefault((ends[0], CO_OCCURRENCE, ends[1]), _RelationGroup(CO_OCCURRENCE)).add(chunk, times)
    return groups


def _read_statements(store: Store, condition: str, keys: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = store.read_rows(STATEMENTS, ["id", "statements"], _build_mention_condition(condition, keys)).sort_by("id")
    for chunk, statements in zip(rows["id"].to_pylist(), rows["statements"].to_pylist(), strict=True):
        for statement in statements:
            if normalize_term(statement["subject"]) in keys or normalize_term(statement["object"]) in keys:
                yield chunk, statement


class _Spellings:
    """Spellings of entities in passages, and the sentences that pairs share."""

    def __init__(self, keys: Sequence[str], passages: Mapping[str, Passage]) -> None:
        self.passages = passages
        self.cooccurrences = {chunk: extract_cooccurrences(passage.text) for chunk, passage in passages.items()}
        self._kinds: Counter[EntityKind] = Counter(
            pairs.entities[key].kind for pairs in self.cooccurrences.values() for key in keys if key in pairs.entities
        )

    def find_name(self, keys: Sequence[str]) -> str:
        """Return the most frequent spelling of an entity; empty if no passage names it."""
        spellings = Counter(
            pairs.entities[key].name for pairs in self.cooccurrences.values() for key in keys if key in pairs.entities
        )
        return min(spellings, key=lambda name: (-spellings[name], name)) if spellings else ""

    def find_kind(self) -> EntityKind | None:
        """Return the most frequent kind of the entity, as its spelling suggests; None if unknown."""
        return min(((-count, kind) for kind, count in self._kinds.items()), default=(0, None))[1]


def _to_relation(identity: _RelationKey, group: _RelationGroup, spellings: _Spellings) -> EntityRelation:
    first = next(iter(group.statements.values()), None)
    subject = first["subject"] if first else spellings.find_name([identity[0]]) or identity[0]
    object_ = first["object"] if first else spellings.find_name([identity[2]]) or identity[2]
    evidence = (_to_evidence(chunk, identity, group, spellings) for chunk in group.best_chunks)
    return EntityRelation(
        subject=subject,
        predicate=group.predicate,
        object=object_,
        count=group.count,
        passages=len({chunk for _, chunk in group.chunks}),
        evidence=tuple(evidence),
    )


def _to_evidence(chunk: str, identity: _RelationKey, group: _RelationGroup, spellings: _Spellings) -> RelationEvidence:
    passage = spellings.passages[chunk]
    if chunk in group.statements:
        start, end = (group.statements[chunk][edge] - passage.start for edge in ("start", "end"))
    else:
        cooccurrence = spellings.cooccurrences[chunk].relations[sort_pair(identity[0], identity[2])]
        start, end = cooccurrence.start, cooccurrence.end
    return RelationEvidence(
        chunk=passage.chunk,
        source=passage.source,
        title=passage.title,
        uri=passage.uri,
        start=passage.start + start,
        end=passage.start + end,
        sentence=passage.text[start:end],
    )


def _find_similar_entities(store: Store, condition: str, keys: Sequence[str]) -> tuple[str, ...]:
    """Return entities that share a word with an unknown one, most frequent first."""
    words = {word for key in keys for word in key.split()}
    having = " OR ".join(f"strpos(name, {quote_literal(word)}) > 0" for word in sorted(words))
    rows = store.read_rows(ENTITIES, ["name", "mentioned_count"], f"{condition} AND ({having})").to_pylist()
    counts: Counter[str] = Counter()
    for row in rows:
        if words.intersection(row["name"].split()):
            counts[row["name"]] += row["mentioned_count"]
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:MAX_SIMILAR_ENTITIES])
