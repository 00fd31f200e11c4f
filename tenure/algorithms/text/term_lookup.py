"""Find exact occurrences of a term and sentences that define it."""

import re
from functools import lru_cache

# "is a", "means", "refers to", "stands for".
_DEFINING_VERB = (
    r"(?:is|are|was|were)\s+(?:an?|the|one|any|called|defined|known|understood)\b|(?:means?|denotes?|refers?\s+to|"
    r"stands?\s+for|is\s+short\s+for|consists?\s+of|describes?)\b"
)
_BETWEEN = r"(?:\s*\([^)]{0,80}\))?(?:,[^,]{1,60},)?\s+"  # " (RRF), a method," between a term and its verb.


@lru_cache(maxsize=256)
def compile_term_pattern(term: str) -> re.Pattern[str]:
    """Compile a pattern that matches a term as whole words, in any case and with any white space."""
    words = r"\s+".join(re.escape(word) for word in term.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def is_definition(sentence: str, term: str) -> bool:
    """Return whether a sentence defines a term."""
    words = r"\s+".join(re.escape(word) for word in term.split())
    defining = rf"^(?:\W*(?:an?|the)\s+)?[\"“'‘]?{words}[\"”'’]?{_BETWEEN}(?:{_DEFINING_VERB})"
    naming = rf"\b(?:called|known\s+as|termed|named)\s+(?:an?\s+|the\s+)?[\"“'‘]?{words}\b"
    return bool(re.match(defining, sentence, re.IGNORECASE) or re.search(naming, sentence, re.IGNORECASE))
