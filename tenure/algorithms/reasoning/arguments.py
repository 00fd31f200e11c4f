"""Build extractive arguments: ordered sentences of the sources that lead to a conclusion.

The fallbacks of all reasoning strategies use these functions. A step is a sentence that is understandable on its own.
An argument adds no statement of its own; it contributes only the order of the sentences and the links between them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tenure.algorithms.text.excerpts import (
    has_back_reference,
    is_back_matter,
    is_complete_sentence,
    make_standalone,
)
from tenure.algorithms.text.passage import Encoder, Passage, Vectors
from tenure.algorithms.text.sentences import (
    Sentence,
    find_ubiquitous_names,
    normalize_sentence,
    remove_common_words,
    split_sentences,
    split_words,
    stem_words,
)
from tenure.contracts.evidence.reasoning import StepKind

MIN_SIMILARITY = 0.4
"""Minimum cosine similarity of a step to the question."""
MIN_SHARE_OF_BEST = 0.65
"""Minimum similarity of a step, as a share of the best one."""
MIN_SHARED_TERMS = 0.5
"""Minimum share of the question's content words in a conclusion and its premise."""


class StandaloneSentence(NamedTuple):
    """Sentence of a passage that is understandable on its own."""

    passage_number: int
    """Position of the passage, from 1."""
    text: str
    """The sentence as the start of a paragraph."""


class ArgumentStep(NamedTuple):
    """Step of an argument."""

    kind: StepKind
    text: str
    passage_number: int
    follows: tuple[int, ...] = ()
    link: str = ""


class Argument(NamedTuple):
    """Steps with their conclusion; an argument without steps and conclusion means that no sound one was found."""

    steps: tuple[ArgumentStep, ...] = ()
    conclusion: ArgumentStep | None = None
    answer: str = ""
    confidence: float = 0.0


EMPTY_ARGUMENT = Argument()
"""Result if no sound argument was found."""


def select_prose(passages: Sequence[Passage]) -> Iterator[tuple[int, Passage, tuple[Sentence, ...]]]:
    """Yield the prose passages outside back matter, with their positions from 1 and their sentences."""
    for number, passage in enumerate(passages, 1):
        if passage.kind == "prose" and not is_back_matter(passage):
            yield number, passage, split_sentences(passage.text)


def extract_standalone_sentences(passages: Sequence[Passage]) -> list[StandaloneSentence]:
    """Extract the self-contained sentences of passages in reading order, without repetitions."""
    result: dict[str, StandaloneSentence] = {}
    for number, passage, all_sentences in select_prose(passages):
        for sentence in all_sentences:
            if is_standalone(sentence):
                text = make_standalone(sentence.text, passage.title)
                result.setdefault(normalize_sentence(text), StandaloneSentence(number, text))
    return list(result.values())


def is_standalone(sentence: Sentence) -> bool:
    """Return whether a sentence is understandable on its own."""
    return is_complete_sentence(sentence) and not has_back_reference(sentence.text)


def extract_subject(question: str, passages: Sequence[Passage]) -> str:
    """Return a question without the names that most passages share."""
    return remove_common_words(question, find_ubiquitous_names([passage.text for passage in passages]))


def compute_similarities(question: str, texts: Sequence[str], encode: Encoder) -> tuple[list[float], Vectors]:
    """Return the cosine similarity of each text to a question, and the vectors of the texts."""
    if not texts:
        return [], np.zeros((0, 0), dtype=np.float32)
    vectors = encode([question, *texts])
    return [float(cosine) for cosine in vectors[1:] @ vectors[0]], vectors[1:]


def choose_min_similarity(similarities: Sequence[float], share: float = MIN_SHARE_OF_BEST) -> float:
    """Return the minimum similarity of a sentence that is on topic: at least a share of the best one."""
    return max(MIN_SIMILARITY, share * max(similarities, default=0.0))


def has_shared_terms(question: str, text: str) -> bool:
    """Return whether a text shares enough words with a question to be about it; similarity alone is not sufficient."""
    question_stems = set(stem_words(question))
    return len(question_stems.intersection(stem_words(text))) >= MIN_SHARED_TERMS * len(question_stems)


def find_shared_phrase(text: str, wanted: Iterable[str]) -> str:
    """Return the longest run of words whose stems are wanted, including the stop words inside it."""
    keys = frozenset(wanted)
    runs: list[list[str]] = [[]]
    pending: list[str] = []
    for word in split_words(text):
        word_stems = stem_words(word)
        if keys.intersection(word_stems):
            runs[-1] += [*pending, word]
            pending = []
        elif word_stems:
            runs.append([])
            pending = []
        elif runs[-1]:
            pending.append(word)
    return " ".join(max(runs, key=lambda run: len(stem_words(" ".join(run)))))


def compute_confidence(similarities: Iterable[float]) -> float:
    """Return the confidence of an argument: the lowest similarity of its steps to the question."""
    return round(min(1.0, max(0.0, min(similarities, default=0.0))), 3)
