"""Composition: a section's text out of excerpts, chosen by relevance and diversity, set in readable order.

The classical twin of writing. Each excerpt belongs to the topic it is nearest to, so that two
sections written at the same time from the same passages never say the same thing.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.excerpts import Excerpt, excerpts, standing
from tenure.algorithms.mmr import mmr
from tenure.algorithms.passages import Encoder, Passage, Vectors
from tenure.algorithms.text import fingerprint, stems, words

FLOOR = 0.28
"""Score below which an excerpt says nothing on the topic."""
FOCUS_WEIGHT = 0.9
"""How much likeness to a wish counts against likeness to the topic."""
NEAREST_MARGIN = 0.03
"""By how much another topic must be nearer before an excerpt is left to it."""


@dataclass(frozen=True)
class Composed:
    """A sentence of the composed text."""

    text: str
    """The sentence."""
    passage: int
    """The passage it is taken from, from 1."""


@dataclass(frozen=True)
class ComposedBlock:
    """A paragraph or list of the composed text."""

    kind: Literal["paragraph", "bullets"]
    """How it is set."""
    sentences: tuple[Composed, ...]
    """Its sentences."""


@dataclass(frozen=True)
class Wish:
    """What a text is to be about."""

    topic: str
    """Heading of the section."""
    question: str
    """The question behind it."""
    others: tuple[str, ...] = ()
    """Headings of the other sections."""
    focus: tuple[str, ...] = ()
    """What a reviewer or a person asked for."""


def compose(
    wish: Wish,
    passages: Sequence[Passage],
    encode: Encoder,
    target_words: int = 190,
    max_excerpts: int = 9,
    said: Collection[str] = (),
) -> list[ComposedBlock]:
    """Compose a text of about `target_words` words; empty where no excerpt is on the topic.

    Args:
        wish: what the text is to be about.
        passages: evidence, best first.
        encode: sentence encoder.
        target_words: length aimed at.
        max_excerpts: excerpts at the most.
        said: fingerprints of sentences that stand elsewhere and may not be repeated.
    """
    candidates = _distinct(excerpts(passages), said)
    if not candidates:
        return []
    vectors = encode([candidate.text for candidate in candidates])
    scores = _scores(wish, candidates, vectors, passages, encode)
    order = mmr(scores, vectors, max_excerpts, floor=FLOOR)
    chosen = _focused_first(wish, candidates, vectors, encode, order)
    kept = _within(chosen, candidates, target_words)
    return _arrange([candidates[index] for index in kept], passages, {candidates[i]: float(scores[i]) for i in kept})


def _distinct(found: Sequence[Excerpt], said: Collection[str]) -> list[Excerpt]:
    taken = set(said)
    kept: list[Excerpt] = []
    for excerpt in sorted(found, key=lambda e: -len(e.sentences)):
        marks = [fingerprint(sentence.text) for sentence in excerpt.sentences]
        if not taken.intersection(marks):
            taken.update(marks)
            kept.append(excerpt)
    return sorted(kept, key=lambda e: (e.passage, e.order))


def _scores(
    wish: Wish, candidates: Sequence[Excerpt], vectors: Vectors, passages: Sequence[Passage], encode: Encoder
) -> NDArray[np.float32]:
    anchors = encode([wish.topic, wish.question, *wish.others, *wish.focus])
    near = vectors @ anchors.T
    topic, question = near[:, 0], near[:, 1]
    others, focus = near[:, 2 : 2 + len(wish.others)], near[:, 2 + len(wish.others) :]
    wanted = set(stems(wish.topic)) | set(stems(wish.question))
    overlap = [len(wanted.intersection(stems(c.text))) / max(1, len(wanted)) for c in candidates]
    prior = [passages[c.passage - 1].relevance for c in candidates]
    score: NDArray[np.float32] = (
        0.5 * topic + 0.25 * question + 0.15 * np.asarray(overlap) + 0.15 * np.asarray(prior)
    ).astype(np.float32)
    if others.shape[1]:
        score[others.max(axis=1) > topic + NEAREST_MARGIN] = -1.0
    if focus.shape[1]:
        score = np.maximum(score, FOCUS_WEIGHT * focus.max(axis=1))
    return score


def _focused_first(
    wish: Wish, candidates: Sequence[Excerpt], vectors: Vectors, encode: Encoder, order: list[int]
) -> list[int]:
    """Put the excerpt nearest to each wish in front, so that no length bound can cut it off."""
    if not wish.focus:
        return order
    nearest = [int(index) for index in np.argmax(encode(list(wish.focus)) @ vectors.T, axis=1)]
    return list(dict.fromkeys([*nearest, *order]))


def _within(order: Sequence[int], candidates: Sequence[Excerpt], target_words: int) -> list[int]:
    kept: list[int] = []
    length = 0
    for index in order:
        if kept and length >= target_words:
            break
        kept.append(index)
        length += len(words(candidates[index].text))
    return kept


def _arrange(
    chosen: Sequence[Excerpt], passages: Sequence[Passage], scores: dict[Excerpt, float]
) -> list[ComposedBlock]:
    """Set excerpts by source, the best source first, in the order of the source."""

    def source(excerpt: Excerpt) -> str:
        return passages[excerpt.passage - 1].source

    def place(excerpt: Excerpt) -> int:
        return passages[excerpt.passage - 1].start + excerpt.order

    best: dict[str, float] = {}
    for excerpt in chosen:
        best[source(excerpt)] = max(best.get(source(excerpt), -1.0), scores[excerpt])
    ordered = sorted(chosen, key=lambda e: (-best[source(e)], source(e), place(e)))
    blocks: list[ComposedBlock] = []
    paragraph: list[Composed] = []
    previous: Excerpt | None = None
    for excerpt in ordered:
        new_source = previous is not None and source(previous) != source(excerpt)
        if excerpt.kind == "list" or len(paragraph) >= 4 or (new_source and len(paragraph) >= 2):
            blocks.extend(_paragraph(paragraph))
            paragraph = []
        title = passages[excerpt.passage - 1].title
        if excerpt.kind == "list":
            blocks.extend(_list_blocks(excerpt, title))
        else:
            paragraph.extend(_set(excerpt, title))
        previous = excerpt
    blocks.extend(_paragraph(paragraph))
    return blocks


def _set(excerpt: Excerpt, title: str) -> list[Composed]:
    opening, *rest = excerpt.sentences
    return [
        Composed(standing(opening.text, title), excerpt.passage),
        *(Composed(sentence.text, excerpt.passage) for sentence in rest),
    ]


def _paragraph(sentences: Sequence[Composed]) -> list[ComposedBlock]:
    return [ComposedBlock("paragraph", tuple(sentences))] if sentences else []


def _list_blocks(excerpt: Excerpt, title: str) -> list[ComposedBlock]:
    introduction, *items = _set(excerpt, title)
    return [ComposedBlock("paragraph", (introduction,)), ComposedBlock("bullets", tuple(items))]
