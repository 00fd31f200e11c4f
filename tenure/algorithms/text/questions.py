"""Split, shorten and rephrase questions with patterns: sub-questions, compared items, headings.

These functions need no model; roles use them as a fallback.
"""

import re
from functools import lru_cache

from tenure.algorithms.text.grammar.clauses import has_several_clauses, is_direct_question, split_clauses, strip_request
from tenure.algorithms.text.grammar.coreference import find_reference
from tenure.algorithms.text.grammar.vocabulary import ADJECTIVES, PREPOSITIONS
from tenure.algorithms.text.sentences import split_words

_OPENERS = "how|what|why|when|where|which|who|whose|whom|can|could|does|do|did|is|are|was|were|should|would|will"
_ASKED = re.compile(rf"\b(?:{_OPENERS})\b[^.?!\n\"“”]{{1,300}}\?(?!\w)", re.IGNORECASE)
"""Question within a text, such as that of the command `start "How does it scale?" --docs manual`."""
# Sides of a comparison that name nothing: "they", "each other".
_PRONOUN = re.compile(r"^(?:it|they|them|this|that|these|those|he|she|we|you|one|each\s+other)$", re.IGNORECASE)
# "How does A compare to B", "Compare A with B", "difference between A and B", "How does A differ from B", "How do A and
# B differ", "A vs. B".
_COMPARISON = (
    re.compile(r"\bhow\s+(?:do|does|did)\s+(?P<a>.{1,120}?)\s+compare\s+(?:to|with|against)\s+(?P<b>[^?.,;:]+)", re.I),
    re.compile(
        r"\b(?:compare|contrast)\s+(?P<a>.{1,120}?)\s+(?:and|with|to|against|versus|vs\.?)\s+(?P<b>[^?.,;:]+)", re.I
    ),
    re.compile(
        r"\bdifferences?\s+(?:is\s+there\s+)?(?:in\s+[^?.,;:]{2,60}?\s+)?between\s+(?P<a>.{1,120}?)\s+and\s+(?P<b>[^?.,;:]+)",
        re.I,
    ),
    re.compile(r"\bhow\s+(?:do|does|did)\s+(?P<a>.{1,120}?)\s+differ\s+from\s+(?P<b>[^?.,;:]+)", re.I),
    re.compile(r"\bhow\s+(?:do|does)\s+(?P<a>.{1,120}?)\s+(?:and\s+(?P<b>.{1,120}?)\s+)(?:differ|compare)\b", re.I),
    re.compile(r"(?P<a>\b[\w .+#-]{1,80}?)\s+(?:vs\.?|versus)\s+(?P<b>[^?.,;:]+)", re.I),
)
# "Please", "Can you", "I would like to know", "an overview of".
_POLITE = re.compile(
    r"^(?:please|kindly|hi|hello|can you|could you|would you|tell me|explain(?: to me)?|describe|give me|show me|"
    r"write|i (?:want|would like|need) to (?:know|understand)|an? (?:overview|summary|report) (?:of|on|about)|about|"
    r"summari[sz]e|research|investigate|find out|analy[sz]e|discuss)\b[,:]?\s+",
    re.IGNORECASE,
)
# "baked", "made".
_PARTICIPLE = r"(?:\w+ed|lost|done|made|known|left|meant|said|told|kept|held|given|taken|written|shown|found|won|paid)"
# "What is known?".
_SUBJECTLESS = re.compile(rf"^what\s+(?:is|are|was|were|has\s+been)\s+{_PARTICIPLE}\W*$", re.IGNORECASE)
# "What is made of rye": no heading "Made of rye".
_WHAT_HAPPENS = re.compile(rf"^what\s+(?:is|are|was|were)\s+{_PARTICIPLE}\b", re.IGNORECASE)
# The thing in "What is the crust".
_WHAT_IS = re.compile(r"^what(?:'s|\s+(?:is|are|was|were))\s+(?:the\s+|an?\s+)?(?P<x>.+)$", re.IGNORECASE)
# The task in "How do I bake bread".
_HOW_TO = re.compile(r"^how\s+(?:do|can|should|could|would)\s+(?:i|you|we|one|people)\s+(?P<x>.+)$", re.IGNORECASE)
_HOW_TO_HEADING = re.compile(r"how\s+to\s", re.IGNORECASE)  # "How to bake bread".
_ONLY_AS_REQUEST = re.compile(
    r"^(?:compare|contrast|say|state|identify|name|define|analy[sz]e)\b"
    r"|\band\s+(?:then\s+)?(?:explain|describe|list|name|say|state|give|show|tell|identify|outline|discuss|summari[sz]e)\s",
    re.IGNORECASE,
)
"""Pattern of requests whose verb belongs to the heading."""
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)  # "The mill".
# "it", "made of", "the bread baked": no heading.
_INCOMPLETE_TOPIC = re.compile(
    rf"^(?:it|they|this|that|these|those|there|he|she|its|their)\b|\b(?:{'|'.join(sorted(PREPOSITIONS))}|like)$"
    rf"|\s{_PARTICIPLE}$",
    re.IGNORECASE,
)
# The criteria in "in terms of price and taste", "differ in price".
_CRITERIA = re.compile(
    r"\b(?:in terms of|with respect to|with regard to|regarding|(?:compare|differ)\s+in|differences?\s+in)\s+"
    r"(?P<criteria>[^?.;:]{3,160}?)(?=\s+between\b|[?.;:]|$)",
    re.IGNORECASE,
)
_AND = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+", re.IGNORECASE)  # "price, taste and crust".
# " in terms of price" after the second side.
_TERMS_OF = re.compile(r"\s+(?:in terms of|with respect to|with regard to|regarding|for|when|if)\s+.*$", re.IGNORECASE)

MAX_PATTERN_CHARACTERS = 2_000
"""Maximum characters of a question that patterns read, which bounds backtracking."""
MAX_HEADING_CHARACTERS = 120


def remove_questions(text: str, question: str) -> str:
    """Return the statements of a text: the text without its questions and without repetitions of the given one.

    A heading of the question such as "Rye bread" is removed only from a text that consists of it.
    """
    stated = _ASKED.sub(" ", text)
    for repetition, is_question in _compile_repetitions(question[:MAX_PATTERN_CHARACTERS]):
        rest = repetition.sub(" ", stated)
        stated = rest if is_question or not split_words(rest) else stated
    return stated


@lru_cache(maxsize=8)
def _compile_repetitions(question: str) -> tuple[tuple[re.Pattern[str], bool], ...]:
    """Return patterns of a question and of its heading, each with whether it asks; every piece of a text needs them."""
    patterns = []
    for form in dict.fromkeys((question, format_heading(question))):
        if words := split_words(form):
            repeated = r"[\W_]+".join(map(re.escape, words))
            is_question = form.endswith("?") or is_direct_question(form) or bool(_HOW_TO_HEADING.match(form))
            patterns.append((re.compile(rf"(?<!\w){repeated}(?!\w)", re.IGNORECASE), is_question))
    return tuple(patterns)


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
            a, b = _strip_phrasing(match["a"]), _TERMS_OF.sub("", _strip_phrasing(match["b"]))
            if a and b and not _PRONOUN.match(a) and not _PRONOUN.match(b) and max(len(a.split()), len(b.split())) <= 8:
                return a, b
    return None


def format_heading(question: str) -> str:
    """Format a question as a heading: "What is X?" becomes "X", "How do I x?" becomes "How to x".

    The statements before a question are omitted. A question that would lose its sense stays a question.
    """
    clauses = split_clauses(question)
    clause = " ".join(question.split())
    if not find_reference(clauses[0].text):
        clause = clauses[0].text if len(clauses) == 1 else clause.removeprefix(clauses[0].context).strip()
    text = _strip_phrasing(clause)
    is_requested = not _strip_marks(clause).startswith(text)
    is_joined = len(clauses) > 1 or has_several_clauses(text)
    match = None if is_joined or _WHAT_HAPPENS.match(text) else _WHAT_IS.match(text)
    if match and not _INCOMPLETE_TOPIC.search(match["x"]) and not _is_predicate(match["x"]):
        text = match["x"]
    elif match := None if is_joined else _HOW_TO.match(text):
        text = f"How to {match['x']}"
    elif is_requested:
        text = _ARTICLE.sub("", text)
    elif (is_joined or not _WHAT_HAPPENS.match(text)) and (clause.rstrip().endswith("?") or is_direct_question(text)):
        text = f"{text}?"
    return shorten(text[0].upper() + text[1:] if text.strip("?") else question.strip(), MAX_HEADING_CHARACTERS)


def _is_predicate(text: str) -> bool:
    """Return whether a text is an adjective with its complement ("wrong with X")."""
    words = text.lower().split()
    return len(words) > 1 and words[0] in ADJECTIVES and words[1] in PREPOSITIONS


def shorten(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters between words and append an ellipsis."""
    if len(text) <= limit:
        return text
    shortened = text[: limit - 1]
    return shortened[: shortened.rfind(" ")].rstrip(" ,;:") + "…" if " " in shortened else shortened + "…"


def _strip_phrasing(text: str) -> str:
    """Remove requests and polite phrases at the start and punctuation at the end of a question."""
    stripped = _strip_marks(text)
    while True:
        shorter = _POLITE.sub("", stripped if _ONLY_AS_REQUEST.search(stripped) else strip_request(stripped))
        if shorter == stripped or not shorter:
            return stripped
        stripped = shorter


def _strip_marks(text: str) -> str:
    return " ".join(text.split()).strip(" ?.!,;:")
