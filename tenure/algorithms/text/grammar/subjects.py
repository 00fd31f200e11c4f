"""Give the subject of a message to its parts, which are searched alone.

The subject consists of the names that a message repeats, as “PostgreSQL” in “How does PostgreSQL replicate, what has to
be configured, and what does PostgreSQL not protect?”. A part without a name would find pages on any subject.
"""

import re
from typing import Final

from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.grammar.masking import mask_text
from tenure.algorithms.text.grammar.noun_phrases import find_noun_phrases
from tenure.algorithms.text.grammar.vocabulary import (
    ADVERBS,
    AUXILIARY_WORDS,
    DETERMINERS,
    PREPOSITIONS,
    SPEAKERS,
    WH_WORDS,
    is_base_verb,
    is_finite_verb,
    is_participle,
)
from tenure.algorithms.text.sentences import stem_words

MAX_SUBJECTS: Final = 2
"""Maximum number of names in a subject: “How did Meson's support for Rust develop” has two."""
MAX_SUBJECT_CHARACTERS: Final = 2_000
"""Characters of a message in which its subject is looked for: each name is counted, and a pasted log has thousands."""
MAX_CLAUSES: Final = 8
"""Maximum number of clauses of a message that are searched."""
MIN_CLAUSE_STEMS: Final = 2
"""Minimum number of content words of a clause that is searched alone: “and why?” finds nothing."""

# Ends of sentences, semicolons and colons; items as "(a) orders"; clauses as ", and how are they stored".
_CLAUSE_END = re.compile(
    rf"(?<=[.?!])\s+|[;:]\s+|\s*\((?:[a-z]|\d{{1,2}})\)\s+|,\s+(?:and\s+|or\s+|but\s+)?(?=(?:{WH_WORDS})\s)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'’-]+")
_WH_WORDS = frozenset(WH_WORDS.split("|"))


def find_subject(message: str) -> str:
    """Return the names that a message mentions most, or what its first clause is about; empty if it names nothing."""
    message = message[:MAX_SUBJECT_CHARACTERS]
    names = list(extract_entity_spellings(message).values())
    text = message.casefold()
    counts = {name: len(re.findall(rf"\b{re.escape(name.casefold())}\b", text)) for name in names}
    repeated = sorted((name for name in names if counts[name] > 1), key=lambda name: -counts[name])[:MAX_SUBJECTS]
    if repeated:
        return ", ".join(name for name in names if name in repeated)
    # An abbreviation as RPC or TTL is rather a property than a subject.
    single = next((name for name in names if not name.isupper()), "") or next(iter(names), "")
    phrases = find_noun_phrases(list_clauses(message)[0])
    return single or phrases.object or phrases.subject


def add_subject(part: str, message: str) -> str:
    """Return a part of a message with the subject before it, unless the part names one itself."""
    subject = find_subject(message)
    if not subject or extract_entity_spellings(part) or set(stem_words(subject)) & set(stem_words(part)):
        return part
    is_named = bool(extract_entity_spellings(message))
    # Without names, “How does cheese ripen?” after a question on bread has a noun of its own, and “What has to be
    # prepared?” has none.
    return f"{subject}: {part}" if is_named or not any(map(_is_content_word, _WORD.findall(part.lower()))) else part


def list_clauses(message: str) -> tuple[str, ...]:
    """Return the sentences, items and clauses of a message that can be searched alone, without their subject."""
    masked = mask_text(message)
    # A boundary in a quotation or in brackets is masked; that of an item is itself in brackets.
    ends = [m for m in _CLAUSE_END.finditer(message) if "(" in m[0] or masked[m.start() : m.end()] == m[0]]
    starts = [0, *(match.end() for match in ends)]
    pieces = (message[start:end] for start, end in zip(starts, [*(m.start() for m in ends), len(message)], strict=True))
    clauses = (" ".join(piece.split()).strip(" ,;:") for piece in pieces)
    kept = tuple(clause for clause in dict.fromkeys(clauses) if len(set(stem_words(clause))) >= MIN_CLAUSE_STEMS)
    return kept[:MAX_CLAUSES] or (" ".join(message.split()),)


def _is_content_word(word: str) -> bool:
    is_function = word in AUXILIARY_WORDS or word in PREPOSITIONS or word in DETERMINERS or word in SPEAKERS
    is_verb = is_base_verb(word) or is_finite_verb(word) or is_participle(word) or word in ADVERBS
    return not (is_function or is_verb or word in _WH_WORDS) and bool(stem_words(word))
