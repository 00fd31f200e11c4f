"""Compose a section from excerpts of the evidence without a model: those that answer its question best.

The search that found the passages knows more than the words of a sentence, such as links between documents. Most
excerpts therefore come from its first passages.

Each excerpt belongs to the topic whose heading it is under in its document, else to the nearest topic. Therefore
sections that are written concurrently from the same passages do not repeat each other.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.control.length import scale_words
from tenure.algorithms.reasoning.answer_scoring import score_answers
from tenure.algorithms.retrieval.decomposition import decompose_question
from tenure.algorithms.retrieval.word_overlap import measure_overlap, needs_overlap
from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.excerpts import Excerpt, extract_excerpts, has_back_reference, make_standalone
from tenure.algorithms.text.passage import Encoder, Passage, Vectors
from tenure.algorithms.text.sentences import (
    find_ubiquitous_names,
    normalize_sentence,
    remove_common_words,
    split_sentences,
    split_words,
    stem_words,
)
from tenure.contracts.run.limit_fields import ReportLength

MIN_SCORE, MIN_SCORE_OF_SEVERAL = 0.1, 0.4
"""Minimum score of an excerpt in the only section of a report, and in one of several sections: a part of the question
without an answer is left out if another part has one."""
LEADING_PASSAGES, EXCERPTS_PER_LEADING_PASSAGE = 2, 3
"""Number of passages, best first, that give most of a text, and maximum number of excerpts of each."""
MAX_LATER_EXCERPTS, MIN_LATER_SHARE = 2, 0.55
"""Maximum number of excerpts of all other passages, at most one each, and their minimum score relative to the best."""
MAX_SIMILARITY = 0.92
"""Cosine similarity from which an excerpt says the same as a selected one."""
REPORT_WORDS, MIN_SECTION_WORDS, MAX_SECTION_WORDS = 900, 180, 320
"""Words of a report, which are divided among its sections, and limits of a section."""
MIN_OPENING_SHARE = 0.5
"""Minimum similarity of an excerpt's opening sentence to the question, relative to its best sentence."""
RANK_WEIGHT, MAX_RANK = 0.1, 5
"""Reduction of the score with each rank of the passage, and last rank that reduces it further."""
SUMMARY_HEADINGS = frozenset("abstract summary introduction overview".split())
"""Headings of summaries."""
_VOICE = re.compile(r"\b(?:we|our|ours|us)\b", re.IGNORECASE)
FOCUS_WEIGHT = 0.9
"""Weight of the similarity to feedback, relative to the similarity to the topic."""
NEAREST_MARGIN = 0.03
"""Minimum difference in similarity by which another topic gets an excerpt."""


@dataclass(frozen=True)
class ComposedSentence:
    """Sentence of the composed text."""

    text: str
    passage: int
    """Position of its passage, from 1."""


@dataclass(frozen=True)
class ComposedBlock:
    """Paragraph or list of the composed text."""

    kind: Literal["paragraph", "bullets"]
    sentences: tuple[ComposedSentence, ...]


@dataclass(frozen=True)
class CompositionRequest:
    """Subject of a text."""

    topic: str
    """Heading of the section."""
    question: str
    """Question of the section."""
    other_topics: tuple[str, ...] = ()
    """Headings of the other sections."""
    focus: tuple[str, ...] = ()
    """Requests of a reviewer or a user."""
    report_question: str = ""
    """Question of the whole report; empty if the text is not a section."""

    length: ReportLength = "standard"
    """Length of the report."""

    @property
    def anchor_question(self) -> str:
        """Question that every excerpt must fit: the whole question, or its part that is this section's question."""
        asked_for_itself = self.question.rstrip("?") in (
            part.question.rstrip("?") for part in decompose_question(self.report_question)
        )
        return self.question if asked_for_itself or not self.report_question else self.report_question


def compose(
    request: CompositionRequest,
    passages: Sequence[Passage],
    encode: Encoder,
    target_words: int | None = None,
    max_excerpts: int = 12,
    used_sentences: Collection[str] = (),
) -> list[ComposedBlock]:
    """Compose a text of about `target_words` words; empty if no excerpt fits the topic.

    Args:
        request: subject of the text.
        passages: evidence, best first.
        encode: sentence encoder.
        target_words: target length; None divides `REPORT_WORDS` by the number of sections.
        max_excerpts: maximum number of excerpts.
        used_sentences: normalized sentences of other texts, which must not be repeated.
    """
    if passages and needs_overlap(request.question, passages[0].text):
        return _quote_by_words(request, passages, used_sentences)
    candidates = _deduplicate(extract_excerpts(passages), used_sentences)
    if not candidates:
        return []
    vectors = encode([candidate.text for candidate in candidates])
    scores = _score_candidates(request, candidates, vectors, passages, encode)
    if request.other_topics:
        scores[scores < MIN_SCORE_OF_SEVERAL] = -1.0
    order = _select_candidates(candidates, scores, vectors, max_excerpts)
    chosen = _put_focus_first(request, scores, vectors, encode, order)
    kept = _limit_length(chosen, candidates, target_words or compute_target_words(request))
    question = encode([request.question])[0]
    weighed = {_trim_opening(candidates[index], question, encode): float(scores[index]) for index in kept}
    return _arrange_blocks(list(weighed), passages, weighed)


MAX_QUOTED_SENTENCES, MIN_QUOTED_SHARE = 3, 0.6
"""Maximum number of sentences that are chosen by their words, and minimum share of the best one's overlap."""

_QUESTION_MARKS = ("?", "\uff1f")
"""Question marks of Latin and of Chinese scripts."""


def _quote_by_words(
    request: CompositionRequest, passages: Sequence[Passage], used_sentences: Collection[str]
) -> list[ComposedBlock]:
    """Return the sentences with most words of a question that is not in English, which no other rule can read."""
    overlaps = {
        ComposedSentence(sentence.text, number): measure_overlap(request.question, sentence.text)
        for number, passage in enumerate(passages, 1)
        for sentence in split_sentences(passage.text)
        if normalize_sentence(sentence.text) not in used_sentences and not sentence.text.endswith(_QUESTION_MARKS)
    }
    best = max(overlaps.values(), default=0.0)
    near = sorted(
        (one for one in overlaps if overlaps[one] >= MIN_QUOTED_SHARE * best > 0), key=lambda one: -overlaps[one]
    )
    return [ComposedBlock("paragraph", (one,)) for one in near[:MAX_QUOTED_SENTENCES]]


def _trim_opening(excerpt: Excerpt, question: Vectors, encode: Encoder) -> Excerpt:
    """Remove opening sentences that are unrelated to the question."""
    if excerpt.kind == "list" or len(excerpt.sentences) < 2:
        return excerpt
    near = encode([sentence.text for sentence in excerpt.sentences]) @ question
    first = 0
    while (
        first < len(near) - 1
        and near[first] < MIN_OPENING_SHARE * near.max()
        and not has_back_reference(excerpt.sentences[first + 1].text)
    ):
        first += 1
    return replace(excerpt, sentences=excerpt.sentences[first:])


def _deduplicate(found: Sequence[Excerpt], used_sentences: Collection[str]) -> list[Excerpt]:
    taken = set(used_sentences)
    kept: list[Excerpt] = []
    for excerpt in sorted(found, key=lambda e: -len(e.sentences)):
        marks = [normalize_sentence(sentence.text) for sentence in excerpt.sentences]
        if not taken.intersection(marks) and len(set(marks)) == len(marks):
            taken.update(marks)
            kept.append(excerpt)
    return sorted(kept, key=lambda e: (e.passage_number, e.start))


def _score_candidates(
    request: CompositionRequest,
    candidates: Sequence[Excerpt],
    vectors: Vectors,
    passages: Sequence[Passage],
    encode: Encoder,
) -> NDArray[np.float32]:
    """Score how well each of n candidates answers the question; −1 for one that belongs to another topic."""
    common = find_ubiquitous_names([passage.text for passage in passages])
    about = (request.topic, *request.other_topics, *request.focus)
    near = vectors @ encode([remove_common_words(text, common) for text in about]).T
    others, focus = near[:, 1 : 1 + len(request.other_topics)], near[:, 1 + len(request.other_topics) :]
    asked = set(stem_words(request.topic)) | set(stem_words(request.question))
    wanted = asked - common or asked
    score: NDArray[np.float32] = (
        score_answers(
            (request.question, request.anchor_question),
            [(passages[c.passage_number - 1].title, [sentence.text for sentence in c.sentences]) for c in candidates],
            wanted,
            encode,
        )
        + np.asarray([_compute_lead_bonus(c, passages[c.passage_number - 1], wanted) for c in candidates])
        - RANK_WEIGHT * np.asarray([min(c.passage_number - 1, MAX_RANK) for c in candidates])
    ).astype(np.float32)
    if others.shape[1]:
        nearer = others.max(axis=1) > near[:, 0] + NEAREST_MARGIN
        homes = _locate_headings(
            [request.topic, *request.other_topics], [passages[c.passage_number - 1] for c in candidates]
        )
        score[np.where(homes < 0, nearer, homes > 0)] = -1.0
        score[~_contain_own_names(request, candidates, passages)] = -1.0
    if focus.shape[1]:
        np.maximum(score, FOCUS_WEIGHT * focus.max(axis=1), out=score)
    return score


def _select_candidates(
    candidates: Sequence[Excerpt], scores: NDArray[np.float32], vectors: Vectors, max_excerpts: int
) -> list[int]:
    """Select candidates that answer the question: most from the leading passages, and the best one of each first."""
    order = [int(n) for n in np.argsort(-scores, kind="stable") if scores[n] >= MIN_SCORE]
    if not order:
        return []
    first: dict[int, int] = {}
    for index in order:
        if (number := candidates[index].passage_number) <= LEADING_PASSAGES:
            first.setdefault(number, index)
    leading = [first[number] for number in sorted(first)]
    taken, later = Counter[int](), 0
    selected: list[int] = []
    for index in (*leading, *(index for index in order if index not in leading)):
        number = candidates[index].passage_number
        is_later = number > LEADING_PASSAGES
        if taken[number] >= (1 if is_later else EXCERPTS_PER_LEADING_PASSAGE):
            continue
        if is_later and (later >= MAX_LATER_EXCERPTS or scores[index] < MIN_LATER_SHARE * scores[order[0]]):
            continue
        if selected and float((vectors[selected] @ vectors[index]).max()) >= MAX_SIMILARITY:
            continue
        selected.append(index)
        taken[number] += 1
        later += is_later
    return selected[:max_excerpts]


def _locate_headings(headings: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.int64]:
    """Return the index of the heading that each of n passages is under in its document, −1 for none; shape (n,)."""
    places = {heading.casefold(): place for place, heading in reversed(list(enumerate(headings)))}
    paths = ([name.casefold() for name in reversed(passage.headings)] for passage in passages)
    return np.asarray([next((places[name] for name in path if name in places), -1) for path in paths], dtype=np.int64)


def _contain_own_names(
    request: CompositionRequest, candidates: Sequence[Excerpt], passages: Sequence[Passage]
) -> NDArray[np.bool_]:
    """Return whether the passages of n candidates contain a name that only this topic has; true if it has none."""
    others = " ".join(request.other_topics).casefold()
    names = [name.casefold() for name in extract_entity_spellings(request.question).values()]
    own = [name for name in names if name not in others]
    texts = [f"{passage.title} {passage.text}".casefold() for passage in passages]
    named = [not own or any(name in text for name in own) for text in texts]
    return np.asarray([named[candidate.passage_number - 1] for candidate in candidates])


def _compute_lead_bonus(candidate: Excerpt, passage: Passage, wanted: set[str]) -> float:
    """Return a bonus for summaries and sentences that start with the topic, minus a malus for first-person text."""
    first = candidate.sentences[0]
    summary = bool(passage.headings) and passage.headings[-1].casefold().strip(" .:") in SUMMARY_HEADINGS
    about = bool(wanted.intersection(stem_words(" ".join(first.text.split()[:6]))))
    voice = bool(_VOICE.search(candidate.text)) or first.text.startswith(("If ", "Unless "))
    return (0.05 if summary else 0.0) + (0.05 if about else 0.0) - (0.08 if voice else 0.0)


def compute_target_words(request: CompositionRequest) -> int:
    """Return the target length of a section by the number of sections and the length of the report."""
    sections = len(request.other_topics) + 1
    words = min(MAX_SECTION_WORDS, max(MIN_SECTION_WORDS, REPORT_WORDS // sections))
    return scale_words(words, request.length)


def _put_focus_first(
    request: CompositionRequest, scores: NDArray[np.float32], vectors: Vectors, encode: Encoder, order: list[int]
) -> list[int]:
    """Put the excerpt nearest to each request first, so that the length limit does not remove it."""
    if not request.focus:
        return order
    eligible = [index for index in range(len(scores)) if scores[index] >= MIN_SCORE]
    if not eligible:
        return order
    nearest = np.argmax(encode(list(request.focus)) @ vectors[eligible].T, axis=1)
    return list(dict.fromkeys([*(eligible[int(index)] for index in nearest), *order]))


def _limit_length(order: Sequence[int], candidates: Sequence[Excerpt], target_words: int) -> list[int]:
    kept: list[int] = []
    length = 0
    for index in order:
        if kept and length >= target_words:
            break
        kept.append(index)
        length += len(split_words(candidates[index].text))
    return kept


def _arrange_blocks(
    chosen: Sequence[Excerpt], passages: Sequence[Passage], scores: dict[Excerpt, float]
) -> list[ComposedBlock]:
    """Arrange excerpts by source, best source first, in the order of the source."""

    def source(excerpt: Excerpt) -> str:
        return passages[excerpt.passage_number - 1].source

    def place(excerpt: Excerpt) -> int:
        return passages[excerpt.passage_number - 1].start + excerpt.start

    best: dict[str, float] = {}
    for excerpt in chosen:
        best[source(excerpt)] = max(best.get(source(excerpt), -1.0), scores[excerpt])
    ordered = sorted(chosen, key=lambda e: (-best[source(e)], source(e), place(e)))
    blocks: list[ComposedBlock] = []
    paragraph: list[ComposedSentence] = []
    previous: Excerpt | None = None
    for excerpt in ordered:
        new_source = previous is not None and source(previous) != source(excerpt)
        if excerpt.kind == "list" or len(paragraph) >= 4 or (new_source and len(paragraph) >= 2):
            blocks.extend(_build_paragraph(paragraph))
            paragraph = []
        # Named once per paragraph: later excerpts of the same document may refer to "this document".
        title = passages[excerpt.passage_number - 1].title if new_source or not paragraph else ""
        if excerpt.kind == "list":
            blocks.extend(_build_list(excerpt, title))
        else:
            paragraph.extend(_build_sentences(excerpt, title))
        previous = excerpt
    blocks.extend(_build_paragraph(paragraph))
    return blocks


def _build_sentences(excerpt: Excerpt, title: str) -> list[ComposedSentence]:
    opening, *rest = excerpt.sentences
    return [
        ComposedSentence(make_standalone(opening.text, title), excerpt.passage_number),
        *(ComposedSentence(sentence.text, excerpt.passage_number) for sentence in rest),
    ]


def _build_paragraph(sentences: Sequence[ComposedSentence]) -> list[ComposedBlock]:
    return [ComposedBlock("paragraph", tuple(sentences))] if sentences else []


def _build_list(excerpt: Excerpt, title: str) -> list[ComposedBlock]:
    introduction, *items = _build_sentences(excerpt, title)
    return [ComposedBlock("paragraph", (introduction,)), ComposedBlock("bullets", tuple(items))]
