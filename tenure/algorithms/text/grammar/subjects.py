"""Give the subject of a message to its parts, which are searched alone.

The subject consists of the names that a message repeats, as “PostgreSQL” in “How does PostgreSQL replicate, what has to
be configured, and what does PostgreSQL not protect?”. A part without a name would find pages on any subject.
"""

import re
from typing import Final

from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.grammar.coreference import find_reference
from tenure.algorithms.text.grammar.masking import mask_text
from tenure.algorithms.text.grammar.vocabulary import WH_WORDS
from tenure.algorithms.text.sentences import stem_words

MAX_SUBJECTS: Final = 2
"""Maximum number of names in a subject: “How did Meson's support for Rust develop” has two."""
MAX_SUBJECT_CHARACTERS: Final = 2_000
"""Characters of a message in which its subject is looked for: each name is counted, and a pasted log has thousands."""
MAX_CLAUSES: Final = 8
MIN_CLAUSE_STEMS: Final = 2
"""Minimum number of content words of a clause that is searched alone: “and why?” finds nothing."""

# Ends of sentences, semicolons and colons; items as "(a) orders"; clauses as ", and how are they stored".
_CLAUSE_END = re.compile(
    rf"(?<=[.?!])\s+|[;:]\s+|\s*\((?:[a-z]|\d{{1,2}})\)\s+|,\s+(?:and\s+|or\s+|but\s+)?(?=(?:{WH_WORDS})\s)",
    re.IGNORECASE,
)


def find_subject(message: str) -> str:
    """Return the names that a message mentions most, or the first one; empty if it names nothing."""
    message = message[:MAX_SUBJECT_CHARACTERS]
    names = list(extract_entity_spellings(message).values())
    text = message.casefold()
    counts = {name: len(re.findall(rf"\b{re.escape(name.casefold())}\b", text)) for name in names}
    repeated = sorted((name for name in names if counts[name] > 1), key=lambda name: -counts[name])[:MAX_SUBJECTS]
    if repeated:
        return ", ".join(name for name in names if name in repeated)
    # An abbreviation as RPC or TTL is rather a property than a subject.
    return next((name for name in names if not name.isupper()), "") or next(iter(names), "")


def add_subject(part: str, message: str) -> str:
    """Return a part of a message with the subject before it, unless the part names one itself."""
    subject = find_subject(message)
    is_complete = extract_entity_spellings(part) and not find_reference(part)
    if not subject or is_complete or set(stem_words(subject)) & set(stem_words(part)):
        return part
    return f"{subject}: {part}"


def list_clauses(message: str) -> tuple[str, ...]:
    """Return the sentences, items and clauses of a message that can be searched alone, without their subject."""
    masked = mask_text(message)
    # A boundary in a quotation or in brackets is masked; that of an item is itself in brackets.
    ends = [m for m in _CLAUSE_END.finditer(message) if "(" in m[0] or masked[m.start() : m.end()] == m[0]]
    starts = [0, *(match.end() for match in ends)]
    pieces = (message[start:end] for start, end in zip(starts, [*(m.start() for m in ends), len(message)], strict=True))
    clauses = (" ".join(piece.split()).strip(" ,;:") for piece in pieces)
    searchable = tuple(clause for clause in dict.fromkeys(clauses) if len(set(stem_words(clause))) >= MIN_CLAUSE_STEMS)
    return searchable[:MAX_CLAUSES] or (" ".join(message.split()),)
