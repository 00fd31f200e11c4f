"""Walk the graph of some corpora from the best passages of a search."""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from tenure.algorithms.retrieval.pagerank import compute_personalised_pagerank
from tenure.algorithms.retrieval.passage_links import (
    boost_unanswered_terms,
    compute_restart_weights,
    weigh_passage_links,
)
from tenure.algorithms.text import entities as naming
from tenure.algorithms.text.phrases import extract_terms, normalize_term
from tenure.algorithms.text.sentences import stem_words
from tenure.knowledge.graph.corpus_graphs import GraphReader, StoredRows, open_graphs
from tenure.knowledge.graph.graph import TAB
from tenure.knowledge.store.store import Store

# A passage that names a thing, and one about it; with a damping of 0.5 a third hop gets an eighth of the walk.
_MAX_HOPS = 2
_MAX_FRONTIER = 30
"""Passages whose second-hop links are followed; more of them do not improve the benchmark."""
_MAX_QUERY_CHARACTERS = 2_000
"""Characters of a query in which names are looked for."""

_Words = frozenset[str]


class Walk(NamedTuple):
    """A random walk over the links between chunks."""

    shares: dict[str, float]
    """Share of the walk of each chunk; empty if it started nowhere."""
    has_links: bool


class EntityGraph:
    """Graph of some corpora, as a search reads it."""

    def __init__(self, store: Store, corpora: Sequence[str]) -> None:
        self._store = store
        self._corpora = tuple(dict.fromkeys(corpora))

    @cached_property
    def _graph(self) -> GraphReader:
        return GraphReader(open_graphs(self._store, self._corpora), StoredRows(self._store, self._corpora))

    def compute_title_share(self, chunks: Sequence[str]) -> float:
        """Return the share of chunks that name the title of their document, from 0 to 1.

        It is high in an encyclopaedia, a news archive or the files of a company: there, names lead from one document to
        another. It is low in a manual or a collection of papers: there, names mislead.
        """
        return sum(self._graph.load_titled(chunks).values()) / len(chunks) if chunks else 0.0

    def walk(self, query: str, best: Mapping[str, float]) -> Walk:
        """Return the personalized PageRank of chunks; the walk restarts at `best` and at entities of the query."""
        text = query[:_MAX_QUERY_CHARACTERS]
        phrases = self._graph.load_entities(normalize_term(term) for term in extract_terms(text))
        start = compute_restart_weights(best, self._graph.load_entities(naming.list_ngram_keys(text)), phrases)
        if not start:
            return Walk({}, has_links=False)
        query_words = frozenset(stem_words(query))
        weights: dict[str, dict[str, float]] = {}
        words: dict[str, _Words] = {}
        frontier = list(start)
        for _ in range(_MAX_HOPS):
            weights |= self._load_links(frontier, query_words, words)
            frontier = _select_frontier(weights)
        return Walk(compute_personalised_pagerank(weights, start), has_links=any(weights.values()))

    def find_neighbours(self, names: Sequence[str], limit: int) -> tuple[str, ...]:
        """Return the keys of entities that share most sentences with some names in close passages."""
        given_names = set(names)
        entities = self._graph.load_entities(names)
        chunks = dict.fromkeys(
            chunk for first in entities.values() for chunk in (*first.title_passages, *first.name_passages)
        )
        counts: Counter[str] = Counter()
        for related in self._graph.load_passages(list(chunks)[:_MAX_FRONTIER]).values():
            for line in related.pairs:
                first, second = line.strip(TAB).split(TAB)
                if (first in given_names) != (second in given_names):
                    counts[second if first in given_names else first] += 1
        return tuple(name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit])

    def _load_links(
        self, chunks: Sequence[str], query_words: _Words, words: dict[str, _Words]
    ) -> dict[str, dict[str, float]]:
        passages = self._graph.load_passages(chunks)
        entities = self._graph.load_entities(
            name for passage in passages.values() for name in (*passage.names, *passage.parts, passage.title)
        )
        pairs = self._graph.load_pair_chunks(pair for passage in passages.values() for pair in passage.pairs)
        links = {chunk: weigh_passage_links(chunk, passage, entities, pairs) for chunk, passage in passages.items()}
        self._load_query_words(
            {*links, *(target for targets in links.values() for target in targets)}, query_words, words
        )
        empty: _Words = frozenset()
        return {
            chunk: {
                target: boost_unanswered_terms(weight, query_words, words.get(chunk, empty), words.get(target, empty))
                for target, weight in sorted(targets.items())
            }
            for chunk, targets in links.items()
        }

    def _load_query_words(self, chunks: set[str], query_words: _Words, words: dict[str, _Words]) -> None:
        """Add to `words` which words of the query each chunk contains."""
        terms = self._graph.load_terms(sorted(chunks - words.keys()))
        words.update((chunk, query_words.intersection(stems.split())) for chunk, stems in terms.items())


def _select_frontier(weights: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the linked chunks whose own links are not loaded yet, those with the heaviest links."""
    closest: dict[str, float] = {}
    for targets in weights.values():
        for target, weight in targets.items():
            if target not in weights:
                closest[target] = max(closest.get(target, 0.0), weight)
    return heapq.nsmallest(_MAX_FRONTIER, closest, key=lambda chunk: (-closest[chunk], chunk))
