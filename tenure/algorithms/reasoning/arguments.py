"""Arguments made of the words of sources: what every line of thought without a model is put together from.

A statement is a sentence that can be understood on its own. An argument puts statements into an order in which one
follows from another; it says nothing that no source says, so what makes it worth reading is the order and the links.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tenure.algorithms.text.excerpts import BACK_MATTER, points_back, presentable, standing
from tenure.algorithms.text.passage import Encoder, Passage, Vectors
from tenure.algorithms.text.sentences import Sentence, fingerprint, sentences, stems, telling, ubiquitous, words
from tenure.contracts.evidence.reasoning import StepKind

LEAST, NEAR_BEST = 0.4, 0.65
"""Cosine to the question that a step needs, and share of the best one's."""
TOUCHED = 0.5
"""Share of the question's content words that a conclusion and its premise need to say together."""


class Statement(NamedTuple):
    """A sentence of a passage that stands on its own."""

    passage: int
    """Position of the passage, from 1."""
    text: str
    """The sentence as it can open a paragraph."""


class Step(NamedTuple):
    """A step of an argument."""

    kind: StepKind
    text: str
    passage: int
    follows: tuple[int, ...] = ()
    link: str = ""


class Argument(NamedTuple):
    """Steps and where they lead; one without steps says that nothing sound could be said."""

    steps: tuple[Step, ...] = ()
    conclusion: Step | None = None
    answer: str = ""
    confidence: float = 0.0


NOTHING = Argument()
"""What is said where nothing sound can be."""


def prose(passages: Sequence[Passage]) -> Iterator[tuple[int, Passage, tuple[Sentence, ...]]]:
    """Yield the passages that say something about a subject, with their positions from 1 and their sentences."""
    for number, passage in enumerate(passages, 1):
        if passage.kind == "prose" and not (passage.heading_path and _heading(passage) in BACK_MATTER):
            yield number, passage, sentences(passage.text)


def statements(passages: Sequence[Passage]) -> list[Statement]:
    """Return the statements of passages, each once, in reading order."""
    found: dict[str, Statement] = {}
    for number, passage, said in prose(passages):
        for sentence in said:
            if stands(sentence):
                text = standing(sentence.text, passage.title)
                found.setdefault(fingerprint(text), Statement(number, text))
    return list(found.values())


def _heading(passage: Passage) -> str:
    return passage.heading_path[-1].strip(" :.").casefold()


def stands(sentence: Sentence) -> bool:
    """Tell whether a sentence can be understood on its own."""
    return presentable(sentence) and not points_back(sentence.text)


def subject(question: str, passages: Sequence[Passage]) -> str:
    """Return what a question is about: its words without the names that all passages share."""
    return telling(question, ubiquitous([passage.text for passage in passages]))


def nearness(asked: str, texts: Sequence[str], encode: Encoder) -> tuple[list[float], Vectors]:
    """Return the cosine of each text to what is asked, and the texts' vectors."""
    if not texts:
        return [], np.zeros((0, 0), dtype=np.float32)
    vectors = encode([asked, *texts])
    return [float(cosine) for cosine in vectors[1:] @ vectors[0]], vectors[1:]


def floor(near: Sequence[float], share: float = NEAR_BEST) -> float:
    """Return the cosine from which a statement is about the question: a share of the best one's at the least."""
    return max(LEAST, share * max(near, default=0.0))


def touches(asked: str, text: str) -> bool:
    """Tell whether a text says enough of the words of what is asked to be about it, and not only near to it."""
    wanted = set(stems(asked))
    return len(wanted.intersection(stems(text))) >= TOUCHED * len(wanted)


def shared_words(text: str, wanted: Iterable[str]) -> str:
    """Return the longest run of words of a text whose stems are wanted, small words within it included."""
    keys = frozenset(wanted)
    runs: list[list[str]] = [[]]
    between: list[str] = []
    for word in words(text):
        said = stems(word)
        if keys.intersection(said):
            runs[-1] += [*between, word]
            between = []
        elif said:
            runs.append([])
            between = []
        elif runs[-1]:
            between.append(word)
    return " ".join(max(runs, key=lambda run: len(stems(" ".join(run)))))


def weakest(near: Iterable[float]) -> float:
    """Return how sure an argument is: as near to the question as the least of its steps."""
    return round(min(1.0, max(0.0, min(near, default=0.0))), 3)
