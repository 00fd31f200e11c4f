"""Find the parts of a question that no passage speaks of.

A part is a name in the question, or a piece of it between commas and conjunctions. A passage speaks of a part if it
contains at least half of the part's content words.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.sentences import guess_language, stem_words

MAX_PARTS: Final = 12
MIN_SHARE: Final = 0.5
"""Minimum share of the content words of a part in one passage that speaks of it."""

# "A, B and C", "A versus B", "between A and B".
_SEPARATOR: Final = re.compile(
    r"[,;:?()]+|\.\s|\b(?:and|or|than|versus|vs\.?|as well as|between|compared (?:to|with))\b", re.IGNORECASE
)

# "who pays the miller" asks for something; "have to choose" and "After nights with a slow consumer" do not.
_SUB_QUESTION: Final = re.compile(r"(?:who|whose|what|which|how|why|when|where)\s+\S+\s+\S", re.IGNORECASE)


def list_parts(question: str) -> tuple[str, ...]:
    """Return the parts of a question, each once, names first."""
    pieces = (" ".join(piece.split()) for piece in _SEPARATOR.split(question))
    parts: dict[frozenset[str], str] = {}
    for part in (*extract_entity_spellings(question).values(), *pieces):
        if stems := frozenset(stem_words(part)):
            parts.setdefault(stems, part)
    return tuple(parts.values())[:MAX_PARTS]


def select_open_parts(parts: Sequence[str], texts: Iterable[str], min_share: float = MIN_SHARE) -> tuple[str, ...]:
    """Return the parts of which no text contains at least `min_share` of the content words."""
    stems = [frozenset(stem_words(text)) for text in texts]
    pairs = ((part, set(stem_words(part))) for part in parts)
    return tuple(
        part for part, words in pairs if not any(len(words & other) >= min_share * len(words) for other in stems)
    )


def find_unplanned_parts(question: str, topics: Sequence[str]) -> tuple[str, ...]:
    """Return the sub-questions that neither a topic (heading and question) nor all of them together speak of.

    None if the topics are in another language than the question, whose words they do not contain.
    """
    if guess_language(" ".join(topics)) != guess_language(question):
        return ()
    sub_questions = [part for part in list_parts(question) if _SUB_QUESTION.match(part)]
    return select_open_parts(sub_questions, [*topics, " ".join(topics)])
