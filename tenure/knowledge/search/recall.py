"""Look up which passages near a query earlier runs have accepted, and which queries found them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.retrieval import RecallReply, RecallRequest
from tenure.knowledge.store.schema import FINDINGS
from tenure.knowledge.store.store import Store

MAX_CANDIDATES = 100
"""Best passages of a query that are looked up among the findings."""
_MAX_QUERIES = 5
"""Maximum number of queries of earlier runs that are returned."""


def recall_findings(store: Store, near: Sequence[PassageRef], request: RecallRequest) -> RecallReply:
    """Look up passages near a query, best first, among the findings of all other runs.

    Passages are ordered by the number of runs that accepted them, queries by the number of passages they found.
    """
    rows = store.read_rows_in(
        FINDINGS, ["run", "chunk", "query"], "chunk", [passage.chunk for passage in near]
    ).to_pylist()
    ours = {row["chunk"] for row in rows if row["run"] == request.run}
    relevant = {p.chunk: p for p in near if p.relevance >= request.min_relevance and p.chunk not in ours}
    others = [row for row in rows if row["run"] != request.run and row["chunk"] in relevant]
    return RecallReply(
        known=tuple(ChunkId(chunk) for chunk in sorted(ours)),
        passages=_rank_accepted(others, relevant)[: request.limit],
        queries=_rank_queries(row["query"] for row in others)[:_MAX_QUERIES],
    )


def _rank_accepted(rows: Iterable[Mapping[str, Any]], near: Mapping[ChunkId, PassageRef]) -> tuple[PassageRef, ...]:
    runs = Counter(row["chunk"] for row in rows)
    order = sorted(runs, key=lambda chunk: (-runs[chunk], -near[chunk].relevance, chunk))
    return tuple(near[chunk] for chunk in order)


def _rank_queries(queries: Iterable[str]) -> tuple[str, ...]:
    found = Counter(queries)
    return tuple(sorted(found, key=lambda query: (-found[query], query)))
