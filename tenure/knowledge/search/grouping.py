"""Grouping: which of a search's passages are about the same (document 003, hierarchical retrieval)."""

from tenure.algorithms.retrieval.relevance import clusters
from tenure.contracts.evidence.retrieval import GroupReply, GroupRequest
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store.store import Store

CLOSENESS = 0.5
"""Cosine to a group's centre from which a passage belongs to it."""
LEAST = 2
"""Passages that make a group."""


def group(store: Store, chunks: ChunkVectors, request: GroupRequest) -> GroupReply:
    """Group passages around their densest; those that resemble no others, or are stored no more, are left out."""
    by_chunk = {passage.chunk: passage for passage in request.passages}
    rows = store.rows_in(chunks.table, ["id", "vector"], "id", list(by_chunk))
    place = {chunk: number for number, chunk in enumerate(rows["id"].to_pylist())}
    there = [passage for passage in by_chunk.values() if passage.chunk in place]
    vectors = chunks.of(rows)[[place[passage.chunk] for passage in there]]
    groups = clusters(vectors, CLOSENESS, LEAST, request.most)
    return GroupReply(groups=tuple(tuple(there[member] for member in sorted(members)) for members in groups))
