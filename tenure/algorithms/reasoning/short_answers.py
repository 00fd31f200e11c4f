"""Extract short answers to factoid questions: the date, number or person that a question asks for.

Short answers of different sources can be compared, which permits voting (self-consistency). Questions for anything else
have no short answer.
"""

import re
from collections.abc import Sequence
from typing import Final

from tenure.algorithms.reasoning.arguments import (
    EMPTY_ARGUMENT,
    Argument,
    ArgumentStep,
    StandaloneSentence,
    compute_confidence,
    compute_similarities,
    extract_standalone_sentences,
)
from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import stem_words

MIN_TERM_COVERAGE: Final = 0.6
"""Minimum share of the question's words in a sentence and its document title."""
_MAX_QUESTION_CHARACTERS = 2_000

_WHEN = re.compile(r"\b(?:when|(?:which|what)\s+(?:year|date|day|month))\b", re.IGNORECASE)
_HOW_MUCH = re.compile(
    r"\bhow\s+(?:many|much|long|old|often|large|big|fast|far|high|deep|tall)\b|"
    r"\bwhat\s+(?:is|was|are|were)\s+the\s+(?:number|share|percentage|size|cost|price|population)\b",
    re.IGNORECASE,
)
_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_DATE = re.compile(
    r"\b(?:(?:\d{1,2}(?:st|nd|rd|th)?(?:\s+of)?\s+)?(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)(?:\s+\d{1,2})?,?\s+)?(?:1[0-9]|20)\d\d\b"
)
_FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:\s*%|\s+[^\W\d_]+)?")
_EXPLANATION = re.compile(r"\s*(?:how|why)\b", re.IGNORECASE)
_PERSON = re.compile(r"^[A-Z][^\W\d_]*[a-z][^\d]*$")


def is_factoid_question(question: str) -> bool:
    """Return whether a question asks for a date, a number or a person."""
    return any(pattern.search(question[:_MAX_QUESTION_CHARACTERS]) for pattern in (_WHEN, _HOW_MUCH, _WHO))


def extract_short_answer(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return the sentence most similar to a question that contains the requested date, number or person."""
    question_stems = frozenset(stem_words(question))
    required = _list_required_stems(question)
    candidates = [
        (sentence, answer)
        for sentence in extract_standalone_sentences(passages)
        if _is_on_topic(sentence, passages[sentence.passage_number - 1].title, question_stems, required)
        and (answer := _extract_detail(question, sentence.text))
    ]
    similarities, _ = compute_similarities(question, [sentence.text for sentence, _ in candidates], encode)
    if not candidates:
        return EMPTY_ARGUMENT
    best = max(range(len(candidates)), key=lambda n: (similarities[n], -n))
    sentence, answer = candidates[best]
    step = ArgumentStep("answer", sentence.text, sentence.passage_number)
    return Argument((), step, answer, compute_confidence([similarities[best]]))


def _list_required_stems(question: str) -> frozenset[str]:
    """Return the stems of names and numbers in a question, which an answer must contain."""
    names = " ".join(extract_entity_spellings(question).values())
    return frozenset(stem_words(names)) | {stem for stem in stem_words(question) if stem.isdigit()}


def _is_on_topic(
    sentence: StandaloneSentence, title: str, question_stems: frozenset[str], required: frozenset[str]
) -> bool:
    sentence_stems = frozenset(stem_words(f"{title} {sentence.text}"))
    min_shared = MIN_TERM_COVERAGE * len(question_stems)
    return required <= sentence_stems and len(question_stems & sentence_stems) >= min_shared


def has_detail(question: str, text: str) -> bool:
    """Return whether a text has a date, a number or a name, as the question asks for it, that the question has not.

    A question that does not begin with "how" or "why" is taken to ask for a name.
    """
    asked = question[:_MAX_QUESTION_CHARACTERS]
    if _WHEN.search(asked):
        return bool(_DATE.search(text))
    if _HOW_MUCH.search(asked):
        return bool(_FIGURE.search(text))
    return not _EXPLANATION.match(asked) and bool(
        extract_entity_spellings(text).keys() - extract_entity_spellings(asked).keys()
    )


def _extract_detail(question: str, text: str) -> str:
    """Return the requested date, number or person in a text that does not occur in the question."""
    question_start = question[:_MAX_QUESTION_CHARACTERS]
    if _WHEN.search(question_start):
        details = [match.group() for match in _DATE.finditer(text)]
    elif _HOW_MUCH.search(question_start):
        details = [match.group() for match in _FIGURE.finditer(text)]
    else:
        details = [
            name
            for name in extract_entity_spellings(text).values()
            if _WHO.search(question_start) and _PERSON.match(name)
        ]
    question_stems = set(stem_words(question_start))
    return next((" ".join(detail.split()) for detail in details if set(stem_words(detail)) - question_stems), "")
