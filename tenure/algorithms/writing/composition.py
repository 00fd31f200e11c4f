"""Composition: a section's text out of excerpts, chosen by relevance and diversity, set in readable order.

The classical twin of writing. Each excerpt belongs to the topic whose heading it stands under, else to
the one it is nearest to, so that two sections written at the same time from the same passages never
say the same thing.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.retrieval.mmr import mmr
from tenure.algorithms.text.entities import written
from tenure.algorithms.text.excerpts import Excerpt, excerpts, points_back, standing
from tenure.algorithms.text.passage import Encoder, Passage, Vectors
from tenure.algorithms.text.questions import parts
from tenure.algorithms.text.sentences import fingerprint, stems, telling, ubiquitous, words

FLOOR = 0.35
"""Score below which an excerpt says nothing on the topic."""
ENOUGH_TO_CENTRE = 20
"""Candidates from which their common direction means something."""
NEAR_BEST = 0.68
"""Share of the best excerpt's score that another must have: what is much weaker only dilutes the section."""
ON_QUESTION = 0.45
"""Share of the best excerpt's likeness to the whole question that another must have."""
REPORT_WORDS, SHORTEST, LONGEST = 900, 180, 320
"""Words of a report, shared among its sections, and the bounds of a section."""
OFF_TOPIC = 0.5
"""Share of the best sentence's likeness to the topic that a run's opening sentence needs."""
SUMMARIES = frozenset("abstract summary introduction overview".split())
"""Headings under which a document says what it is about."""
_VOICE = re.compile(r"\b(?:we|our|ours|us)\b", re.IGNORECASE)
NAMED = 0.2
"""What it counts that a passage names what the question names."""
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
    whole: str = ""
    """The question of the whole report; empty where the text is about all of it."""

    @property
    def asked(self) -> str:
        """What a text that is on its topic has to be on as well: the whole question, or the part that the topic is."""
        asked_for_itself = self.question.rstrip("?") in (part.rstrip("?") for part in parts(self.whole))
        return self.question if asked_for_itself or not self.whole else self.whole


def compose(
    wish: Wish,
    passages: Sequence[Passage],
    encode: Encoder,
    target_words: int | None = None,
    max_excerpts: int = 12,
    said: Collection[str] = (),
) -> list[ComposedBlock]:
    """Compose a text of about `target_words` words; empty where no excerpt is on the topic.

    Args:
        wish: what the text is to be about.
        passages: evidence, best first.
        encode: sentence encoder.
        target_words: length aimed at; None for a share of `REPORT_WORDS` by the number of sections.
        max_excerpts: excerpts at the most.
        said: fingerprints of sentences that stand elsewhere and may not be repeated.
    """
    candidates = _distinct(excerpts(passages), said)
    if not candidates:
        return []
    vectors = encode([candidate.text for candidate in candidates])
    scores = _scores(wish, candidates, vectors, passages, encode)
    order = mmr(scores, vectors, max_excerpts, floor=max(FLOOR, NEAR_BEST * float(scores.max())))
    chosen = _focused_first(wish, scores, vectors, encode, order)
    kept = _within(chosen, candidates, target_words or _share(len(wish.others) + 1))
    topic = encode([wish.topic])[0]
    weighed = {_trimmed(candidates[index], topic, encode): float(scores[index]) for index in kept}
    return _arrange(list(weighed), passages, weighed)


def _trimmed(excerpt: Excerpt, topic: Vectors, encode: Encoder) -> Excerpt:
    """Return a run without opening sentences that have nothing to do with the topic."""
    if excerpt.kind == "list" or len(excerpt.sentences) < 2:
        return excerpt
    near = encode([sentence.text for sentence in excerpt.sentences]) @ topic
    first = 0
    while (
        first < len(near) - 1
        and near[first] < OFF_TOPIC * near.max()
        and not points_back(excerpt.sentences[first + 1].text)
    ):
        first += 1
    return replace(excerpt, sentences=excerpt.sentences[first:])


def _distinct(found: Sequence[Excerpt], said: Collection[str]) -> list[Excerpt]:
    taken = set(said)
    kept: list[Excerpt] = []
    for excerpt in sorted(found, key=lambda e: -len(e.sentences)):
        marks = [fingerprint(sentence.text) for sentence in excerpt.sentences]
        if not taken.intersection(marks) and len(set(marks)) == len(marks):
            taken.update(marks)
            kept.append(excerpt)
    return sorted(kept, key=lambda e: (e.passage, e.order))


def _scores(
    wish: Wish, candidates: Sequence[Excerpt], vectors: Vectors, passages: Sequence[Passage], encode: Encoder
) -> NDArray[np.float32]:
    common = ubiquitous([passage.text for passage in passages])
    about = (wish.topic, wish.question, wish.asked)
    anchors = encode([telling(text, common) for text in (*about, *wish.others, *wish.focus)])
    near = vectors @ anchors.T
    others, focus = near[:, 3 : 3 + len(wish.others)], near[:, 3 + len(wish.others) :]
    asked = set(stems(wish.topic)) | set(stems(wish.question))
    wanted = asked - common or asked
    prior = np.asarray([passages[c.passage - 1].relevance for c in candidates])
    leading = np.asarray([_leading(c, passages[c.passage - 1], wanted) for c in candidates])
    score: NDArray[np.float32] = (
        0.2 * near[:, 0]
        + 0.25 * _set_apart(vectors, anchors[0])
        + 0.1 * near[:, 1]
        + 0.25 * near[:, 2]
        + 0.25 * _overlap(candidates, wanted)
        + 0.3 * prior
        + NAMED * _names_what_is_asked(wish.asked, candidates, passages)
        + leading
    ).astype(np.float32)
    score[near[:, 2] < ON_QUESTION * near[:, 2].max()] = -1.0
    if others.shape[1]:
        nearer = others.max(axis=1) > near[:, 0] + NEAREST_MARGIN
        homes = _homes([wish.topic, *wish.others], [passages[c.passage - 1] for c in candidates])
        score[np.where(homes < 0, nearer, homes > 0)] = -1.0
    if focus.shape[1]:
        score = np.maximum(score, FOCUS_WEIGHT * focus.max(axis=1))
    return score


def _homes(headings: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.int64]:
    """Return under which of some headings each of n passages stands in its document, −1 for none; shape (n,)."""
    places = {heading.casefold(): place for place, heading in reversed(list(enumerate(headings)))}
    paths = ([name.casefold() for name in reversed(passage.heading_path)] for passage in passages)
    return np.asarray([next((places[name] for name in path if name in places), -1) for path in paths], dtype=np.int64)


def _names_what_is_asked(
    question: str, candidates: Sequence[Excerpt], passages: Sequence[Passage]
) -> NDArray[np.float32]:
    """Return how much it tells a candidate apart that its passage has every name of the question; 0 where it has not.

    Passages of one kind about different things resemble each other, and the question, more than what tells them apart.
    """
    asked = [name.casefold() for name in written(question).values()]
    said = [f"{passage.title}\n{passage.text}".casefold() for passage in passages]
    there = [bool(asked) and all(name in text for name in asked) for text in said]
    found = np.asarray([there[candidate.passage - 1] for candidate in candidates], dtype=np.float32)
    apart: NDArray[np.float32] = found * (1.0 - found.mean())
    return apart


def _set_apart(vectors: Vectors, anchor: Vectors) -> NDArray[np.float32]:
    """Return cosines with the direction that all candidates share taken out.

    In a corpus about one subject every sentence resembles every question; what is left after the
    common direction is gone tells the candidates apart.
    """
    if len(vectors) < ENOUGH_TO_CENTRE:
        return vectors @ anchor
    common = vectors.mean(axis=0)
    left, wanted = vectors - common, anchor - common
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(wanted)
    apart: NDArray[np.float32] = (left @ wanted / np.maximum(lengths, 1e-6)).astype(np.float32)
    return apart


def _overlap(candidates: Sequence[Excerpt], wanted: set[str]) -> NDArray[np.float32]:
    """Return the share of the wanted words each candidate has, a word weighing more the fewer have it."""
    held = [wanted.intersection(stems(candidate.text)) for candidate in candidates]
    frequency = Counter(word for words_held in held for word in words_held)
    weight = {word: math.log(1 + len(candidates) / (1 + frequency[word])) for word in wanted}
    whole = sum(weight.values()) or 1.0
    return np.asarray([sum(weight[word] for word in sorted(found)) / whole for found in held], dtype=np.float32)


def _leading(candidate: Excerpt, passage: Passage, wanted: set[str]) -> float:
    """Return a bonus for what states a subject first: an opening sentence, a summary, a sentence about the topic."""
    first = candidate.sentences[0]
    summary = bool(passage.heading_path) and passage.heading_path[-1].casefold().strip(" .:") in SUMMARIES
    about = bool(wanted.intersection(stems(" ".join(first.text.split()[:6]))))
    voice = bool(_VOICE.search(candidate.text)) or first.text.startswith(("If ", "Unless "))
    return (0.05 if summary else 0.0) + (0.05 if about else 0.0) - (0.08 if voice else 0.0)


def _share(sections: int) -> int:
    return min(LONGEST, max(SHORTEST, REPORT_WORDS // sections))


def _focused_first(
    wish: Wish, scores: NDArray[np.float32], vectors: Vectors, encode: Encoder, order: list[int]
) -> list[int]:
    """Put the excerpt nearest to each wish in front, so that no length bound can cut it off."""
    if not wish.focus:
        return order
    eligible = [index for index in range(len(scores)) if scores[index] >= FLOOR]
    if not eligible:
        return order
    nearest = np.argmax(encode(list(wish.focus)) @ vectors[eligible].T, axis=1)
    return list(dict.fromkeys([*(eligible[int(index)] for index in nearest), *order]))


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
        # Named once: a paragraph that goes on with the same document may say "this document" again.
        title = passages[excerpt.passage - 1].title if new_source or not paragraph else ""
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
