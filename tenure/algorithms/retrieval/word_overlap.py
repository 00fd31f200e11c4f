"""Measure how many words of a question a text contains, in any language.

Stop words, stems and the embedding model of the package are English. For other languages the length of a word says
how much it distinguishes, its beginning replaces the stem, and scripts without blanks are compared by pairs of
characters.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from tenure.algorithms.text.sentences import is_non_english, may_be_english, split_words

MAX_LETTERS: Final = 5
"""First letters by which words are compared: "Brücken" matches "Brücke"."""
_LIGHT_LETTERS = 3
"""Length up to which a word counts for nothing: most of them are articles, prepositions and question words."""
# Chinese characters, kana, Thai, Lao, Khmer and Burmese have no blanks between words.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


def needs_overlap(question: str, text: str) -> bool:
    """Return whether a question is not in English, or may be in the language of a text that is not."""
    return is_non_english(question) or (not may_be_english(question) and is_non_english(text))


def measure_foreign_overlap(question: str, text: str) -> float:
    """Return the share of the question's terms that a text contains; -1 for English, which vectors compare better."""
    return measure_overlap(question, text) if needs_overlap(question, text) else -1.0


def measure_overlap(question: str, text: str) -> float:
    """Return the share of the question's terms, by weight, that a text contains."""
    question_terms, text_terms = weigh_words(question), weigh_words(text)
    total = sum(question_terms.values())
    return sum(weight for term, weight in question_terms.items() if term in text_terms) / total if total else 0.0


@lru_cache(maxsize=512)
def weigh_words(text: str) -> Mapping[str, int]:
    """Return the terms of a text with their weights."""
    terms: dict[str, int] = {}
    for word in split_words(text):
        if _UNSPACED.search(word):
            terms.update(dict.fromkeys((word[n : n + 2] for n in range(max(1, len(word) - 1))), 1))
        elif len(word) > _LIGHT_LETTERS:
            terms[word[:MAX_LETTERS]] = len(word) - _LIGHT_LETTERS
    return terms
