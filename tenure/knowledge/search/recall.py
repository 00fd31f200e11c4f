"""Recall: what earlier research has accepted near a query, and which queries found it (document 003, memory)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.retrieval import Recalled, RecallRequest
from tenure.knowledge.store.schema import FINDINGS
from tenure.knowledge.store.store import Store

NEAR = 100
"""Passages best for a query that are looked up among the findings."""
_QUERIES = 5
"""Queries of earlier runs that are remembered at the most."""


def recall(store: Store, near: Sequence[PassageRef], request: RecallRequest) -> Recalled:
    """Look up what is near a query, best first, among the findings of all runs.

    A passage that more than one run has accepted comes before one that a single run has, and a query that found
    more of what is near before one that found less.
    """
    rows = store.rows_in(FINDINGS, ["run", "chunk", "query"], "chunk", [passage.chunk for passage in near]).to_pylist()
    ours = {row["chunk"] for row in rows if row["run"] == request.run}
    relevant = {p.chunk: p for p in near if p.relevance >= request.min_relevance and p.chunk not in ours}
    others = [row for row in rows if row["run"] != request.run and row["chunk"] in relevant]
    return Recalled(
        known=tuple(ChunkId(chunk) for chunk in sorted(ours)),
        passages=_accepted(others, relevant)[: request.most],
        queries=_most_found(row["query"] for row in others)[:_QUERIES],
    )


def _accepted(rows: Iterable[Mapping[str, Any]], near: Mapping[ChunkId, PassageRef]) -> tuple[PassageRef, ...]:
    runs = Counter(row["chunk"] for row in rows)
    order = sorted(runs, key=lambda chunk: (-runs[chunk], -near[chunk].relevance, chunk))
    return tuple(near[chunk] for chunk in order)


def _most_found(queries: Iterable[str]) -> tuple[str, ...]:
    found = Counter(queries)
    return tuple(sorted(found, key=lambda query: (-found[query], query)))
