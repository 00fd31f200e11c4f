"""μ: how similar a model finds texts that have nothing to do with each other (DESIGN §4).

Measured per corpus: the mean similarity between a sample of its chunks and sentences from unrelated
walks of life. Pairs of a corpus's own chunks would not do: in a corpus about one subject they are
related, and what is relevant to a question would be measured against what is relevant too.
"""

import numpy as np

from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store.catalogue import chunk_origins
from tenure.knowledge.store.store import Store

_SAMPLE = 128
"""Chunks of the sample; a new corpus is not searched before they are embedded, which takes some seconds."""
_SEED = 20_000_601
_CEILING = 0.95
"""A μ of 1 would make every relevance infinite."""

_UNRELATED = (
    "The bread has to rise for two hours in a warm place before it goes into the oven.",
    "Parliament adjourned without a vote on the amended fisheries treaty.",
    "A mutex protects the queue, and a condition variable wakes the consumer thread.",
    "The patient was given antibiotics after the culture came back positive.",
    "Glaciers carve wide valleys and leave moraines behind when they retreat.",
    "Her second violin concerto was first performed in Leipzig to mixed reviews.",
    "The goalkeeper saved two penalties and the match ended in a draw.",
    "Quarterly revenue fell short of forecasts because shipping costs had doubled.",
    "Honeybees tell each other where nectar is by dancing on the comb.",
    "Turn the valve clockwise and wait until the boiler pressure is below one bar.",
    "Medieval guilds decided who was allowed to practise a trade in the town.",
    "The spacecraft entered orbit around Saturn after a flight of seven years.",
)


def unrelated_similarity(store: Store, corpus: str, chunks: ChunkVectors, encode: Encoder) -> float:
    """Measure μ of a corpus; the same chunks always give the same number. An empty corpus has μ = 0.

    Vectors that the sample lacks are made, so that μ does not depend on how far the embedding has come.
    """
    ids = [chunk for chunk, _ in chunk_origins(store, chunks.dimensions, corpus)]
    picked = sorted(np.random.default_rng(_SEED).permutation(len(ids))[:_SAMPLE])
    sample = [ids[number] for number in picked]
    if not sample:
        return 0.0
    rows = store.rows_in(chunks.table, ["id", "vector"], "id", sample).sort_by("id")  # a sum depends on its order
    return mean_similarity(chunks.of(rows), encode(_UNRELATED))


def mean_similarity(vectors: Vectors, strangers: Vectors) -> float:
    """Return the mean cosine between two sets of unit vectors, kept within [0, 0.95]."""
    return min(max(float((vectors @ strangers.T).mean()), 0.0), _CEILING)


def strangers_similarity(encode: Encoder) -> float:
    """Measure μ of a model by itself, where there is no corpus: among sentences that have nothing in common."""
    vectors = encode(_UNRELATED)
    count = len(vectors)
    mean = float(((vectors @ vectors.T).sum() - count) / (count * (count - 1)))
    return min(max(mean, 0.0), _CEILING)


def relevance(similarity: float, unrelated: float) -> float:
    """Return normalised relevance r = (sim − μ)/(1 − μ); below 0 is less alike than strangers are."""
    return min(1.0, (similarity - unrelated) / (1.0 - unrelated))
