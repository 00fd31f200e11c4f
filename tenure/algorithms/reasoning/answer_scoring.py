"""Score how well sentences answer a question: by similarity, by the question's words, by the detail it asks for."""

import math
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.reasoning.short_answers import has_detail
from tenure.algorithms.text.passage import Encoder
from tenure.algorithms.text.sentences import stem_words

TERM_WEIGHT, DETAIL_WEIGHT = 0.5, 0.15
"""Weight of the question's words, and of the date, number or person that it asks for, relative to the similarity."""
MIN_OWN_SIMILARITY = 0.12
"""Minimum similarity of an excerpt to the question without its title."""


def score_answers(
    questions: Sequence[str], units: Sequence[tuple[str, Sequence[str]]], wanted: Collection[str], encode: Encoder
) -> NDArray[np.float32]:
    """Score how well each of n units of text answers a question; about 1 for a good answer, −1 for an unrelated text.

    Args:
        questions: the question in one or more forms; the detail that it asks for is that of the first form.
        units: title of the source and sentences of each unit.
        wanted: stems of the question's words.
        encode: sentence encoder.
    """
    own = _compute_similarities(questions, [("", sentences) for _, sentences in units], encode)
    titled = _compute_similarities(questions, [(f"{title}: ", sentences) for title, sentences in units], encode)
    texts = [" ".join(sentences) for _, sentences in units]
    words = [f"{title} {text}" for (title, _), text in zip(units, texts, strict=True)]
    details = np.asarray([has_detail(questions[0], text) for text in texts], dtype=np.float32)
    terms = _compute_overlap(words, set(wanted))
    score: NDArray[np.float32] = ((own + titled) / 2 + TERM_WEIGHT * terms + DETAIL_WEIGHT * details).astype(np.float32)
    score[own < MIN_OWN_SIMILARITY] = -1.0
    return score


def _compute_similarities(
    questions: Sequence[str], units: Sequence[tuple[str, Sequence[str]]], encode: Encoder
) -> NDArray[np.float32]:
    """Return the mean similarity of the questions to the best sentence of each of n units, after the unit's prefix."""
    near = encode([prefix + text for prefix, sentences in units for text in sentences]) @ encode(list(questions)).T
    starts = np.cumsum([0, *(len(sentences) for _, sentences in units[:-1])])
    best: NDArray[np.float32] = np.maximum.reduceat(near.mean(axis=1), starts)
    return best


def _compute_overlap(texts: Sequence[str], wanted: set[str]) -> NDArray[np.float32]:
    """Return the share of wanted words in each of n texts, weighted by inverse document frequency."""
    held = [wanted.intersection(stem_words(text)) for text in texts]
    frequency = Counter(word for words_held in held for word in words_held)
    weight = {word: math.log(1 + len(texts) / (1 + frequency[word])) for word in wanted}
    whole = sum(weight.values()) or 1.0
    return np.asarray([sum(weight[word] for word in sorted(found)) / whole for found in held], dtype=np.float32)
