"""Extract statements of a kind from passages without a model, nearest to a question first.

Statements are sentences that are understandable without context; they are ranked by similarity and by shared words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.details import extract_numbers
from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.excerpts import has_back_reference, is_complete_sentence
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import normalize_sentence, split_sentences, stem_words
from tenure.algorithms.text.term_lookup import is_definition
from tenure.contracts.research.tools import FactKind

MIN_WEIGHT_SHARE: Final = 0.5
"""Minimum weight of a statement, relative to the best one."""
_OVERLAP_WEIGHT: Final = 0.5
"""Weight of shared words, relative to cosine similarity."""
_DATE: Final = re.compile(
    r"\b(?:1[0-9]|20)\d{2}(?:s\b|-\d{2}(?:-\d{2})?)?|\b\d{1,2}(?:st|nd|rd|th)? century\b|\b(?:January|February|March|"
    r"April|June|July|August|September|October|November|December)\b|\bMay \d",
)
_YEAR: Final = re.compile(r"(?<![\d.,$€£])\b(?:1[0-9]|20)\d{2}\b(?![.,]?\d|\s*(?:%|[a-z]{1,3}\b))")


class FactStatement(NamedTuple):
    """Statement of a passage."""

    passage: int
    """Position of the passage, from 1."""
    text: str
    """Verbatim sentence."""


def _has_figure(sentence: str) -> bool:
    """Return whether a sentence has a number that is not a year."""
    return bool(extract_numbers(_DATE.sub(" ", _YEAR.sub(" ", sentence))))


_KINDS: Final[Mapping[FactKind, Callable[[str], bool]]] = {
    "any": lambda sentence: True,
    "figures": _has_figure,
    "dates": lambda sentence: bool(_DATE.search(sentence)),
    "names": lambda sentence: bool(extract_entity_spellings(sentence)),
    "definitions": is_definition,
}


def extract_facts(
    question: str, kind: FactKind, passages: Sequence[Passage], encode: Encoder, limit: int
) -> list[FactStatement]:
    """Return statements of a kind on a question, nearest first.

    Args:
        question: subject of the statements.
        kind: kind of statements.
        passages: passages to search.
        encode: sentence encoder.
        limit: maximum number of statements.
    """
    found = _list_statements(kind, passages)
    if not found:
        return []
    asked = set(stem_words(question))
    near = encode([fact.text for fact in found]) @ encode([question])[0]
    shared = [len(asked.intersection(stem_words(fact.text))) / max(len(asked), 1) for fact in found]
    weights = [float(similarity) + _OVERLAP_WEIGHT * words for similarity, words in zip(near, shared, strict=True)]
    order = sorted(range(len(found)), key=lambda n: -weights[n])
    return [found[n] for n in order if weights[n] >= MIN_WEIGHT_SHARE * weights[order[0]]][:limit]


def _list_statements(kind: FactKind, passages: Sequence[Passage]) -> list[FactStatement]:
    """Return the distinct self-contained sentences of a kind."""
    wanted = _KINDS[kind]
    found: dict[str, FactStatement] = {}
    for number, passage in enumerate(passages, 1):
        for sentence in split_sentences(passage.text) if passage.kind == "prose" else ():
            if is_complete_sentence(sentence) and not has_back_reference(sentence.text) and wanted(sentence.text):
                found.setdefault(normalize_sentence(sentence.text), FactStatement(number, sentence.text))
    return list(found.values())
