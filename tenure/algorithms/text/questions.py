"""Questions in plain patterns: their parts, what they compare, how they read as a heading.

Decomposition follows document 003, "Query Decomposition". This is the part that needs no model.
"""

import re

_OPENERS = "how|what|why|when|where|which|who|whose|whom|can|could|does|do|did|is|are|was|were|should|would|will"
_BOUNDARY = re.compile(
    rf"(?<=[?!])\s+|[;\n]+\s*|(?:,\s*|\s+)(?:and|or|but)\s+(?:also\s+)?(?=(?:{_OPENERS})\s+\w+\s+\w+)", re.IGNORECASE
)
_POINTS_BACK = re.compile(r"\b(?:it|its|they|them|their|one|this|these|those)\b", re.IGNORECASE)
_COMPARED = (
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

MAX_PATTERN = 2_000
"""Characters of a question that patterns look at: what it asks stands there, and backtracking stays cheap."""
MAX_HEADING = 90
"""Characters of a heading at the most."""


def parts(question: str) -> tuple[str, ...]:
    """Return the questions joined in one, each as a sentence.

    A question without joints is its own only part, and so is one whose later parts point back to the
    first ("… and what happens without it?"): cut off, they would ask about nothing.
    """
    whole = pieces(question)
    if any(leans(piece) for piece in whole[1:]):
        return (" ".join(question.split()),)
    return tuple(dict.fromkeys(whole)) or (question.strip(),)


def pieces(question: str) -> tuple[str, ...]:
    """Return a question cut at its joints, each piece with a capital in front; fragments are left out.

    A piece without a subject of its own ("… and what was tried?") stays with the one before it.
    """
    cut: list[str] = []
    for piece in (piece.strip(" ,.") for piece in _BOUNDARY.split(question)):
        if cut and _SUBJECTLESS.match(piece):
            cut[-1] = f"{cut[-1]}, and {piece[0].lower()}{piece[1:]}"
        else:
            cut.append(piece)
    return tuple(piece[0].upper() + piece[1:] for piece in cut if len(piece.split()) >= 3)


def leans(piece: str) -> bool:
    """Tell whether a piece of a question points to what stands before it."""
    return bool(_POINTS_BACK.search(piece))


def criteria(question: str) -> tuple[str, ...]:
    """Return by what a comparison compares ("in terms of price and taste"), none where it does not say."""
    found = _CRITERIA.search(question[:MAX_PATTERN])
    if not found:
        return ()
    named = [" ".join(piece.split()) for piece in _AND.split(found["criteria"])]
    return tuple(dict.fromkeys(piece for piece in named if piece and len(piece.split()) <= 5))


def compared(question: str) -> tuple[str, str] | None:
    """Return the two things a question compares, None where it compares nothing."""
    for pattern in _COMPARED:
        found = pattern.search(question[:MAX_PATTERN])
        if found:
            a, b = (_TERMS_OF.sub("", _bare(found[name])) for name in ("a", "b"))
            if a and b and max(len(a.split()), len(b.split())) <= 8:
                return a, b
    return None


def heading(question: str) -> str:
    """Return a question as a heading: "What is X?" becomes "X", "How do I x?" becomes "How to x"."""
    bare = _bare(question)
    found = None if _WHAT_HAPPENS.match(bare) else _WHAT_IS.match(bare)
    if found:
        bare = found["x"]
    elif found := _HOW_TO.match(bare):
        bare = f"How to {found['x']}"
    elif re.match(rf"^(?:{_OPENERS})\b", bare, re.IGNORECASE) and not _WHAT_HAPPENS.match(bare):
        bare = f"{bare}?"
    return shorten(bare[0].upper() + bare[1:] if bare else question.strip(), MAX_HEADING)


def shorten(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, cut between words and marked with an ellipsis."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return cut[: cut.rfind(" ")].rstrip(" ,;:") + "…" if " " in cut else cut + "…"


def _bare(text: str) -> str:
    """Return a question without politeness in front and marks behind."""
    bare = " ".join(text.split()).strip(" ?.!,;:")
    while True:
        shorter = _POLITE.sub("", bare)
        if shorter == bare or not shorter:
            return bare
        bare = shorter
