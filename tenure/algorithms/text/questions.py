"""Split, shorten and rephrase questions with patterns: sub-questions, compared items, headings.

These functions need no model; roles use them as a fallback.
"""

import re

_OPENERS = "how|what|why|when|where|which|who|whose|whom|can|could|does|do|did|is|are|was|were|should|would|will"
_BOUNDARY = re.compile(
    rf"(?<=[?!])\s+|[;\n]+\s*|(?:,\s*|\s+)(?:and|or|but)\s+(?:also\s+)?(?=(?:{_OPENERS})\s+\w+\s+\w+)", re.IGNORECASE
)
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|one|this|these|those)\b", re.IGNORECASE)
_COMPARISON = (
    re.compile(r"\bhow\s+(?:do|does|did)\s+(?P<a>.{1,120}?)\s+compare\s+(?:to|with|against)\s+(?P<b>[^?.,;:]+)", re.I),
    re.compile(
        r"\b(?:compare|contrast)\s+(?P<a>.{1,120}?)\s+(?:and|with|to|against|versus|vs\.?)\s+(?P<b>[^?.,;:]+)", re.I
    ),
    re.compile(r"\bdifferences?\s+(?:is\s+there\s+)?between\s+(?P<a>.{1,120}?)\s+and\s+(?P<b>[^?.,;:]+)", re.I),
    re.compile(r"\bhow\s+(?:do|does)\s+(?P<a>.{1,120}?)\s+(?:and\s+(?P<b>.{1,120}?)\s+)(?:differ|compare)\b", re.I),
    re.compile(r"(?P<a>\b[\w .+#-]{1,80}?)\s+(?:vs\.?|versus)\s+(?P<b>[^?.,;:]+)", re.I),
)
_POLITE = re.compile(
    r"^(?:please|kindly|hi|hello|can you|could you|would you|tell me|explain(?: to me)?|describe|give me|show me|"
    r"write|i (?:want|would like|need) to (?:know|understand)|an? (?:overview|summary|report) (?:of|on|about)|about|"
    r"summari[sz]e|research|investigate|find out|analy[sz]e|discuss)\b[,:]?\s+",
    re.IGNORECASE,
)
_PARTICIPLE = r"(?:\w+ed|lost|done|made|known|left|meant|said|told|kept|held|given|taken|written|shown|found|won|paid)"
_SUBJECTLESS = re.compile(rf"^what\s+(?:is|are|was|were|has\s+been)\s+{_PARTICIPLE}\W*$", re.IGNORECASE)
_WHAT_HAPPENS = re.compile(rf"^what\s+(?:is|are|was|were)\s+{_PARTICIPLE}\b", re.IGNORECASE)
_WHAT_IS = re.compile(r"^what(?:'s|\s+(?:is|are|was|were))\s+(?:the\s+|an?\s+)?(?P<x>.+)$", re.IGNORECASE)
_HOW_TO = re.compile(r"^how\s+(?:do|can|should|could|would)\s+(?:i|you|we|one|people)\s+(?P<x>.+)$", re.IGNORECASE)
_CRITERIA = re.compile(
    r"\b(?:in terms of|with respect to|with regard to|regarding)\s+(?P<criteria>[^?.;:]{3,160})", re.IGNORECASE
)
_AND = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+", re.IGNORECASE)
_TERMS_OF = re.compile(r"\s+(?:in terms of|with respect to|with regard to|regarding|for|when|if)\s+.*$", re.IGNORECASE)

MAX_PATTERN_CHARACTERS = 2_000
"""Maximum characters of a question that patterns read, which bounds backtracking."""
MAX_HEADING_CHARACTERS = 90
"""Maximum characters of a heading."""


def split_question(question: str) -> tuple[str, ...]:
    """Split a question into its independent sub-questions, each as a sentence.

    A question with a single part, or with a part that refers to an earlier one ("… and what happens without it?"), is
    returned whole.
    """
    fragments = split_fragments(question)
    if any(has_pronoun_reference(piece) for piece in fragments[1:]):
        return (" ".join(question.split()),)
    return tuple(dict.fromkeys(fragments)) or (question.strip(),)


def split_fragments(question: str) -> tuple[str, ...]:
    """Split a question at its conjunctions, without fragments of fewer than three words.

    A part without a subject of its own ("… and what was tried?") stays with the part before it.
    """
    fragments: list[str] = []
    for piece in (piece.strip(" ,.") for piece in _BOUNDARY.split(question)):
        if fragments and _SUBJECTLESS.match(piece):
            fragments[-1] = f"{fragments[-1]}, and {piece[0].lower()}{piece[1:]}"
        else:
            fragments.append(piece)
    return tuple(piece[0].upper() + piece[1:] for piece in fragments if len(piece.split()) >= 3)


def has_pronoun_reference(piece: str) -> bool:
    """Return whether a part of a question refers to an earlier part with a pronoun."""
    return bool(_PRONOUN.search(piece))


def extract_criteria(question: str) -> tuple[str, ...]:
    """Extract the criteria of a comparison ("in terms of price and taste"); empty if the question names none."""
    match = _CRITERIA.search(question[:MAX_PATTERN_CHARACTERS])
    if not match:
        return ()
    criteria = [" ".join(piece.split()) for piece in _AND.split(match["criteria"])]
    return tuple(dict.fromkeys(piece for piece in criteria if piece and len(piece.split()) <= 5))


def extract_compared_items(question: str) -> tuple[str, str] | None:
    """Extract the two items that a question compares; None if it compares nothing."""
    for pattern in _COMPARISON:
        match = pattern.search(question[:MAX_PATTERN_CHARACTERS])
        if match:
            a, b = (_TERMS_OF.sub("", _strip_phrasing(match[name])) for name in ("a", "b"))
            if a and b and max(len(a.split()), len(b.split())) <= 8:
                return a, b
    return None


def format_heading(question: str) -> str:
    """Format a question as a heading: "What is X?" becomes "X", "How do I x?" becomes "How to x"."""
    text = _strip_phrasing(question)
    match = None if _WHAT_HAPPENS.match(text) else _WHAT_IS.match(text)
    if match:
        text = match["x"]
    elif match := _HOW_TO.match(text):
        text = f"How to {match['x']}"
    elif re.match(rf"^(?:{_OPENERS})\b", text, re.IGNORECASE) and not _WHAT_HAPPENS.match(text):
        text = f"{text}?"
    return shorten(text[0].upper() + text[1:] if text else question.strip(), MAX_HEADING_CHARACTERS)


def shorten(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters between words and append an ellipsis."""
    if len(text) <= limit:
        return text
    shortened = text[: limit - 1]
    return shortened[: shortened.rfind(" ")].rstrip(" ,;:") + "…" if " " in shortened else shortened + "…"


def _strip_phrasing(text: str) -> str:
    """Remove polite phrases at the start and punctuation at the end of a question."""
    stripped = " ".join(text.split()).strip(" ?.!,;:")
    while True:
        shorter = _POLITE.sub("", stripped)
        if shorter == stripped or not shorter:
            return stripped
        stripped = shorter
