"""Group the passages of a search by similarity."""

from tenure.algorithms.retrieval.relevance import cluster_vectors
from tenure.contracts.evidence.retrieval import GroupReply, GroupRequest
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store.store import Store

MIN_GROUP_SIMILARITY = 0.5
"""Minimum cosine between a passage and the centre of its group."""
MIN_GROUP_SIZE = 2


def group_passages(store: Store, chunks: ChunkVectors, request: GroupRequest) -> GroupReply:
    """Cluster passages around the densest ones; omit passages that are similar to no other or are deleted."""
    by_chunk = {passage.chunk: passage for passage in request.passages}
    rows = store.read_rows_in(chunks.table, ["id", "vector"], "id", list(by_chunk))
    place = {chunk: number for number, chunk in enumerate(rows["id"].to_pylist())}
    stored = [passage for passage in by_chunk.values() if passage.chunk in place]
    vectors = chunks.load_vectors(rows)[[place[passage.chunk] for passage in stored]]
    groups = cluster_vectors(vectors, MIN_GROUP_SIMILARITY, MIN_GROUP_SIZE, request.max_groups)
    return GroupReply(groups=tuple(tuple(stored[member] for member in sorted(members)) for members in groups))
