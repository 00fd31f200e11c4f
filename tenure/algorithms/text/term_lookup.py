"""Terms: where a text has one to the letter, and which sentences say what something is."""

import re
from functools import lru_cache

_SAYS = (
    r"(?:is|are|was|were)\s+(?:an?|the|one|any|called|defined|known|understood)\b|(?:means?|denotes?|refers?\s+to|"
    r"stands?\s+for|is\s+short\s+for|consists?\s+of|describes?)\b"
)
_BETWEEN = r"(?:\s*\([^)]{0,80}\))?(?:,[^,]{1,60},)?\s+"
_DEFINITION = re.compile(rf"^(?:\W*\w[\w'’-]*\s+){{0,6}}?\W*\w[\w'’-]*{_BETWEEN}(?:{_SAYS})", re.IGNORECASE)


@lru_cache(maxsize=256)
def finder(term: str) -> re.Pattern[str]:
    """Return a pattern that finds a term as whole words, in any case and with any white space between them."""
    words = r"\s+".join(re.escape(word) for word in term.split())
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def defines(sentence: str, term: str = "") -> bool:
    """Tell whether a sentence says what something is, and a term where one is given."""
    if not term:
        return bool(_DEFINITION.match(sentence))
    words = r"\s+".join(re.escape(word) for word in term.split())
    named = rf"^(?:\W*(?:an?|the)\s+)?[\"“'‘]?{words}[\"”'’]?{_BETWEEN}(?:{_SAYS})"
    return bool(re.match(named, sentence, re.IGNORECASE) or _called(sentence, words))


def _called(sentence: str, words: str) -> bool:
    return bool(
        re.search(rf"\b(?:called|known\s+as|termed|named)\s+(?:an?\s+|the\s+)?[\"“'‘]?{words}\b", sentence, re.I)
    )
