"""μ: how similar a model finds two chunks that have nothing to do with each other (DESIGN §4).

Measured per corpus, over pairs of chunks from different sources, since a corpus about one subject is
similar throughout. A corpus too small for that takes the model's own μ, measured over sentences from
unrelated walks of life, which any model can embed in one call.
"""

from collections.abc import Sequence

import numpy as np

from tenure.algorithms.passages import Encoder, Vectors
from tenure.knowledge.catalogue import chunk_origins
from tenure.knowledge.schema import chunks_table
from tenure.knowledge.store import Store
from tenure.knowledge.vectors import vector_rows

_SAMPLE = 400
_LEAST_CHUNKS = 30
_LEAST_SOURCES = 2
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


def unrelated_similarity(store: Store, corpus: str, dimensions: int, encode: Encoder) -> float:
    """Measure μ of a corpus; the same rows always give the same number."""
    origins = chunk_origins(store, dimensions, corpus)
    if len(origins) < _LEAST_CHUNKS or len({source for _, source in origins}) < _LEAST_SOURCES:
        return fallback_similarity(encode)
    picked = np.random.default_rng(_SEED).permutation(len(origins))[:_SAMPLE]
    sample = sorted(origins[number] for number in picked)
    if len({source for _, source in sample}) < _LEAST_SOURCES:
        return fallback_similarity(encode)
    ids = [chunk for chunk, _ in sample]
    rows = store.rows_in(chunks_table(dimensions), ["id", "vector"], "id", ids)
    by_id = dict(zip(rows["id"].to_pylist(), vector_rows(rows["vector"], dimensions), strict=True))
    return mean_similarity(np.stack([by_id[chunk] for chunk in ids]), [source for _, source in sample])


def fallback_similarity(encode: Encoder) -> float:
    """Measure μ of a model alone."""
    return mean_similarity(encode(_UNRELATED), [str(number) for number in range(len(_UNRELATED))])


def mean_similarity(vectors: Vectors, groups: Sequence[str]) -> float:
    """Return the mean cosine of all pairs from different groups, kept within [0, 0.95]."""
    labels = np.unique(np.array(groups), return_inverse=True)[1]
    apart = labels[:, None] != labels[None, :]
    mean = float((vectors @ vectors.T)[apart].mean())
    return min(max(mean, 0.0), _CEILING)


def relevance(similarity: float, unrelated: float) -> float:
    """Return normalised relevance r = (sim − μ)/(1 − μ); below 0 is less alike than strangers are."""
    return min(1.0, (similarity - unrelated) / (1.0 - unrelated))
