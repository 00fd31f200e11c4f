"""What an entity is related to, and where that is said: the graph as people and tools ask it.

What stands beside an entity is counted from `mentions`, what models have read from `statements`. Sentences are not
stored twice: those that prove a relation are found again in the text of its passages.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenure.algorithms.retrieval.relations import beside, pair
from tenure.algorithms.text.entities import key
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.phrases import term_key
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.knowledge.graph import BESIDE, EntityKind, Proof, Related, RelatedReply, RelatedRequest
from tenure.knowledge.graph.graph import TAB
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.schema import ENTITIES, MENTIONS, STATEMENTS
from tenure.knowledge.store.store import Store, literal, quoted

PROOFS = 3
"""Sentences shown for a relation."""
ALIKE = 10
"""Entities named where the one that was asked for is not known."""
MAX_ENTITY = 200
"""Characters of an entity."""

_Identity = tuple[str, str, str]
"""Subject, predicate and object, as they are told apart."""


@dataclass
class _Group:
    """One relation over its passages."""

    predicate: str
    count: int = 0
    chunks: list[tuple[int, str]] = field(default_factory=list)
    """Chunks with it, each with the negative number of its sentences, so that sorting puts the fullest first."""
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What a model has read in each."""

    def add(self, chunk: str, times: int, told: dict[str, Any] | None = None) -> None:
        self.count += times
        self.chunks.append((-times, chunk))
        if told is not None:
            self.told.setdefault(chunk, told)

    @property
    def proving(self) -> list[str]:
        """The chunks that prove it best."""
        return [chunk for _, chunk in sorted(set(self.chunks))[:PROOFS]]


def related(store: Store, dimensions: int, request: RelatedRequest) -> RelatedReply:
    """Return what an entity is related to.

    Raises:
        InvalidSearch: there is nothing to look for in the entity.
        UnknownCorpus: a corpus was never ingested.
    """
    keys = _keys(request.entity)
    records = [catalogue.corpus(store, name).corpus for name in dict.fromkeys(request.corpora)]
    own = f"corpus IN {quoted(records)}"
    groups = _groups(store, own, keys)
    ordered = sorted(groups.items(), key=lambda item: (item[1].predicate == BESIDE, -item[1].count, item[0]))
    wanted = dict(ordered[: request.most])
    sources = _sources(store, own, keys)
    chunks = list(dict.fromkeys(chunk for group in wanted.values() for chunk in group.proving))
    refs = [PassageRef(chunk=ChunkId(chunk), source=sources[chunk], score=0.0, relevance=0.0) for chunk in chunks]
    texts = {str(one.chunk): one for one in catalogue.passages(store, dimensions, refs)}
    spelt = _Spelling(keys, texts)
    return RelatedReply(
        entity=spelt.name(keys) or request.entity,
        kind=_read_kind(store, own, keys) or spelt.kind(keys),
        passages=len({chunk for group in groups.values() for _, chunk in group.chunks}),
        relations=tuple(_related(identity, group, spelt) for identity, group in wanted.items()),
        alike=() if groups else _alike(store, own, keys),
        read=store.count(STATEMENTS, own),
        of=store.count(MENTIONS, own),
    )


def _keys(entity: str) -> tuple[str, ...]:
    """Return the keys under which an entity may be known.

    Raises:
        InvalidSearch: there are none.
    """
    if len(entity) > MAX_ENTITY:
        raise InvalidSearch(f"an entity has {MAX_ENTITY} characters at the most, not {len(entity)}")
    found = tuple(dict.fromkeys(filter(None, (term_key(entity), term_key(entity.lower()), key(entity)))))
    if not found:
        raise InvalidSearch("there is nothing to look for in the name of the entity")
    return found


def _holding(own: str, keys: Sequence[str]) -> str:
    return f"{own} AND ({' OR '.join(f'strpos(beside, {literal(TAB + one + TAB)}) > 0' for one in keys)})"


def _sources(store: Store, own: str, keys: Sequence[str]) -> dict[str, SourceId]:
    found: dict[str, SourceId] = {}
    for table in (MENTIONS, STATEMENTS):
        rows = store.rows(table, ["id", "source_id"], _holding(own, keys))
        found.update(zip(rows["id"].to_pylist(), map(SourceId, rows["source_id"].to_pylist()), strict=True))
    return found


def _groups(store: Store, own: str, keys: Sequence[str]) -> dict[_Identity, _Group]:
    """Return the relations of an entity: those that were read, and what it stands beside without more being known."""
    found: dict[_Identity, _Group] = {}
    for chunk, told in _told(store, own, keys):
        ends = term_key(told["subject"]), term_key(told["object"])
        group = found.setdefault((ends[0], told["predicate"].lower(), ends[1]), _Group(told["predicate"]))
        group.add(chunk, told["count"], told)
    known = {frozenset((subject, object_)) for subject, _, object_ in found}
    rows = store.rows(MENTIONS, ["id", "beside"], _holding(own, keys)).sort_by("id")
    for chunk, lines in zip(rows["id"].to_pylist(), rows["beside"].to_pylist(), strict=True):
        for line, times in Counter(lines.split("\n")).items():
            _, one, other, _ = line.split(TAB)
            if (one in keys) != (other in keys) and frozenset((one, other)) not in known:
                ends = (one, other) if one in keys else (other, one)
                found.setdefault((ends[0], BESIDE, ends[1]), _Group(BESIDE)).add(chunk, times)
    return found


def _told(store: Store, own: str, keys: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what models have read of an entity, with the chunk it was read in."""
    rows = store.rows(STATEMENTS, ["id", "statements"], _holding(own, keys)).sort_by("id")
    for chunk, statements in zip(rows["id"].to_pylist(), rows["statements"].to_pylist(), strict=True):
        for told in statements:
            if term_key(told["subject"]) in keys or term_key(told["object"]) in keys:
                yield chunk, told


class _Spelling:
    """How passages write entities, and in which of their sentences two stand."""

    def __init__(self, keys: Sequence[str], passages: Mapping[str, Passage]) -> None:
        self.passages = passages
        self.beside = {chunk: beside(passage.text) for chunk, passage in passages.items()}
        self._kinds: Counter[EntityKind] = Counter(
            found.entities[one].kind for found in self.beside.values() for one in keys if one in found.entities
        )

    def name(self, keys: Sequence[str]) -> str:
        """Return how an entity is written most often; nothing where no passage has it."""
        written = Counter(
            found.entities[one].name for found in self.beside.values() for one in keys if one in found.entities
        )
        return min(written, key=lambda name: (-written[name], name)) if written else ""

    def kind(self, keys: Sequence[str]) -> EntityKind | None:
        """Return what an entity is, as far as its spelling tells."""
        return _most(self._kinds)


def _related(identity: _Identity, group: _Group, spelt: _Spelling) -> Related:
    first = next(iter(group.told.values()), None)
    subject = first["subject"] if first else spelt.name([identity[0]]) or identity[0]
    object_ = first["object"] if first else spelt.name([identity[2]]) or identity[2]
    proofs = (_proof(chunk, identity, group, spelt) for chunk in group.proving)
    return Related(
        subject=subject,
        predicate=group.predicate,
        object=object_,
        count=group.count,
        passages=len({chunk for _, chunk in group.chunks}),
        proofs=tuple(proofs),
    )


def _proof(chunk: str, identity: _Identity, group: _Group, spelt: _Spelling) -> Proof:
    passage = spelt.passages[chunk]
    if chunk in group.told:
        start, end = (group.told[chunk][edge] - passage.start for edge in ("start", "end"))
    else:
        held = spelt.beside[chunk].relations[pair(identity[0], identity[2])]
        start, end = held.start, held.end
    return Proof(
        chunk=passage.chunk,
        source=passage.source,
        title=passage.title,
        uri=passage.uri,
        start=passage.start + start,
        end=passage.start + end,
        sentence=passage.text[start:end],
    )


def _read_kind(store: Store, own: str, keys: Sequence[str]) -> EntityKind | None:
    """Return what models say an entity is, most of them."""
    lists = store.rows(STATEMENTS, ["kinds"], _holding(own, keys))["kinds"].to_pylist()
    return _most(Counter(one["kind"] for kinds in lists for one in kinds if one["key"] in keys))


def _most(kinds: Mapping[EntityKind, int]) -> EntityKind | None:
    return min(((-count, kind) for kind, count in kinds.items()), default=(0, None))[1]


def _alike(store: Store, own: str, keys: Sequence[str]) -> tuple[str, ...]:
    """Return entities that share a word with one that is not known, the most frequent first."""
    words = {word for one in keys for word in one.split()}
    having = " OR ".join(f"strpos(name, {literal(word)}) > 0" for word in sorted(words))
    rows = store.rows(ENTITIES, ["name", "mentioned_count"], f"{own} AND ({having})").to_pylist()
    counts: Counter[str] = Counter()
    for row in rows:
        if words.intersection(row["name"].split()):
            counts[row["name"]] += row["mentioned_count"]
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:ALIKE])
