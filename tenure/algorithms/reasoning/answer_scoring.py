"""Score how well sentences answer a question: by similarity, by the question's words, by the detail it asks for."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.reasoning.short_answers import has_detail
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.algorithms.text.sentences import stem_words

TERM_WEIGHT, DETAIL_WEIGHT = 0.5, 0.15
"""Weight of the question's words, and of the date, number or person that it asks for, relative to the similarity."""
MIN_OWN_SIMILARITY = 0.12
"""Minimum similarity of an excerpt to the question without its title."""


def score_answers(question: str, units: Sequence[tuple[str, str]], encode: Encoder) -> NDArray[np.float32]:
    """Score how well each of n texts, with the titles of their sources, answers a question.

    The score is about 1 for a good answer, and −1 for an unrelated text.
    """
    asked = encode([question])[0]
    own: Vectors = encode([text for _, text in units]) @ asked
    titled = encode([f"{title}: {text}" for title, text in units]) @ asked
    details = np.asarray([has_detail(question, text) for _, text in units], dtype=np.float32)
    terms = _compute_overlap(set(stem_words(question)), [f"{title} {text}" for title, text in units])
    score: NDArray[np.float32] = ((own + titled) / 2 + TERM_WEIGHT * terms + DETAIL_WEIGHT * details).astype(np.float32)
    score[own < MIN_OWN_SIMILARITY] = -1.0
    return score


def _compute_overlap(stems: set[str], texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the share of stems in each of n texts, weighted by inverse document frequency."""
    shared = [stems.intersection(stem_words(text)) for text in texts]
    frequency = Counter(stem for own in shared for stem in own)
    weight = {stem: math.log(1 + len(texts) / (1 + frequency[stem])) for stem in stems}
    whole = sum(weight.values()) or 1.0
    return np.asarray([sum(weight[stem] for stem in sorted(own)) / whole for own in shared], dtype=np.float32)
