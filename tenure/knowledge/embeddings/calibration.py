"""Measure an embedding model: the similarity of unrelated texts, and the languages that it knows.

The baseline similarity μ is the mean cosine between unrelated texts.
The relevance of a passage is normalized by it: r = (sim − μ) / (1 − μ). For a corpus, μ is the mean similarity between
a sample of its chunks and fixed reference sentences about other subjects. Pairs of chunks would not do: in a corpus
about one subject they are related to each other.
"""

from functools import lru_cache

import numpy as np

from tenure.algorithms.text.languages.detection import UNKNOWN
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store.catalogue import list_chunk_origins
from tenure.knowledge.store.store import Store

_SAMPLE_CHUNKS = 128
"""Chunks of the sample. A new corpus is not searchable before they are embedded, which takes some seconds."""
_SEED = 20_000_601  # Any number: the sample of a corpus is always the same.
_MAX_BASELINE = 0.95
"""Upper limit of μ: a μ of 1 would make every relevance infinite."""
_MIN_NAMES_FOUND = 0.5
"""Minimum share of the names of months and days that a model which knows a language puts next to the English ones. The
built-in model finds 0 to 39 % in 43 languages; the one of the extra `multilingual` 66 to 97 % in those that it was
trained in, and in others 0 to 50 % but for Swedish, Malay, Indonesian and Vietnamese, which it knows a little."""

_REFERENCE_SENTENCES = (
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


def measure_baseline(store: Store, corpus: str, chunks: ChunkVectors, encode: Encoder) -> float:
    """Return μ of a corpus; it is reproducible, and 0 for an empty corpus.

    Missing vectors of the sample are computed, so that μ does not depend on the progress of the embedding.
    """
    ids = [chunk for chunk, _ in list_chunk_origins(store, chunks.dimensions, corpus)]
    picked = sorted(np.random.default_rng(_SEED).permutation(len(ids))[:_SAMPLE_CHUNKS])
    sample = [ids[number] for number in picked]
    if not sample:
        return 0.0
    rows = store.read_rows_in(chunks.table, ["id", "vector"], "id", sample).sort_by("id")  # the order affects the sum
    return compute_mean_similarity(chunks.load_vectors(rows), encode(_REFERENCE_SENTENCES))


def compute_mean_similarity(vectors: Vectors, references: Vectors) -> float:
    """Return the mean cosine between two sets of unit vectors, limited to [0, 0.95]."""
    return min(max(float((vectors @ references.T).mean()), 0.0), _MAX_BASELINE)


def measure_model_baseline(encode: Encoder) -> float:
    """Return μ of a model without a corpus: the mean cosine between the reference sentences."""
    vectors = encode(_REFERENCE_SENTENCES)
    count = len(vectors)
    mean = float(((vectors @ vectors.T).sum() - count) / (count * (count - 1)))
    return min(max(mean, 0.0), _MAX_BASELINE)


def normalize_relevance(similarity: float, baseline: float) -> float:
    """Return the normalized relevance r = (sim − μ) / (1 − μ), at most 1; negative below the baseline."""
    return min(1.0, (similarity - baseline) / (1.0 - baseline))


def is_language_known(encode: Encoder, language: str) -> bool:
    """Return whether the texts of a language have vectors with a meaning; an unknown language counts as English.

    It is measured: "Montag" has to be nearer to "Monday" than to other days and months, and the other way round.
    """
    if language in ("en", UNKNOWN):
        return True
    similar = encode(list_calendar_names(language)) @ encode(list_calendar_names("en")).T
    own = np.arange(len(similar))
    found = np.mean([similar.argmax(axis=0) == own, similar.argmax(axis=1) == own])
    return float(found) >= _MIN_NAMES_FOUND


@lru_cache(maxsize=64)
def list_calendar_names(language: str) -> tuple[str, ...]:
    """Return the names of the months and days in a language."""
    # Imported when needed: most searches are English.
    from babel import Locale

    locale = Locale(language)
    return tuple(name for names in (locale.months, locale.days) for name in names["format"]["wide"].values())
