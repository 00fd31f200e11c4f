"""Resolve references between the parts of a question (coreference resolution by patterns).

In "Who wrote it, and where was he born?" the second question refers to the answer of the first. Patterns detect which
questions refer to an earlier answer, and select a name from the evidence as that answer. A resolved question can be
searched for on its own.
"""

import re
from collections.abc import Iterable
from typing import Final

from tenure.algorithms.text.entities import extract_entity_spellings, normalize_name
from tenure.algorithms.text.grammar.masking import mask_text
from tenure.algorithms.text.sentences import split_sentences, stem_words

MIN_COVERAGE: Final = 0.6
"""Minimum share of the question's content words in a sentence that may contain the answer."""

_NOT_A_KIND = "is|are|was|were|be|did|do|does|has|have|had|can|could|will|would|should|may|might|must|if|happens?"
# "Who wrote …", "Which town …", "What is the name of the author of …", "Where …".
_QUESTION_TARGET = re.compile(
    r"^(?:(?:in|at|on|by|from|of|for|to|with|and|but|or|also)\s+)*"
    r"(?:(?P<person>who|whom|whose)\b"
    rf"|(?:which|what)\s+(?!(?:{_NOT_A_KIND})\b)(?P<kind>[a-z][\w-]*)"
    r"|(?:what|which)\s+(?:is|are|was|were)\s+the\s+(?:name\s+of\s+the\s+)?(?P<role>[a-z][\w-]*)\s+(?:of|in|for|that|who)\b"
    r"|(?P<place>where)\b)",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\b(?:(?P<noun>(?:that|this|these|those|such|the\s+said)\s+(?!(?:is|are|was|were|can|could|will|would|do|does|did|has|have|had"
    r"|the|an?|and|or|it|they|he|she|i|we|you|way|time|year|month|week|day|days|much|many|extent|compare|differ|relate|affect"
    r"|happen|vary|impact|change|work|cost|matter)\b)[^\W\d_][\w-]*)(?P<owns>['’]s)?"
    r"|(?P<owner>his|its|their|her(?=\s+[^\W\d_])|hers)|(?P<pronoun>he|she|him|her|it|they|them)"
    r"|(?P<idea>(?:this|that|these)(?=\s+(?:compare|differ|affect|relate|change|work|cost|happen|matter)\b|\W*$))"
    r"|(?P<there>(?<!is\s)(?<!are\s)(?<!was\s)(?<!were\s)there(?!\s+(?:is|are|was|were|any)\b)))\b",
    re.IGNORECASE,
)
"""Word that refers to something outside its question: "that author", "its", "he", "there"."""
_EXPLETIVE = re.compile(
    r"\bit\s+(?:(?:be|really|still|also)\s+)*(?:(?:true|false|possible|impossible|worth|safe|legal|illegal|allowed|necessary"
    r"|important|better|best|good|bad|hard|easy|likely|common|normal|wise)\b.*\b(?:to|that|if|whether)\b"
    r"|worth\s+\w+ing\b|(?:takes?|costs?|makes?\s+sense|matters?)\s+to\b|(?:rain|snow)\w*\b|to\s+\w+)",
    re.IGNORECASE,
)
"""Pronoun that stands for nothing: "is it possible to", "does it rain"."""
_PERSON_NOUNS: Final = frozenset(
    """actor actress architect artist author chairman chairwoman coach composer creator designer developer director
    editor engineer father founder governor head inventor judge king leader maker manager mayor minister mother
    musician owner painter person philosopher player poet pope president prince princess producer professor queen
    researcher ruler scientist singer spouse wife husband winner woman man writer""".split()
)
_ENTITY_NOUNS: Final = frozenset(
    """album band bank book brand capital car church city club company country county currency district element film
    firm game group island lake language magazine mountain name newspaper novel organisation organization party place
    planet port program project province region river school sea series ship show song sport state street team title
    town university village""".split()
)
"""Nouns whose question is answered by a name, so that "it" refers to the answer."""
# "How does that author", "the name of that town", but not "Who says that prices fall".
_BEFORE_NOUN_PHRASE = re.compile(
    r"(?:^|\b(?:do|does|did|is|are|was|were|can|of|in|by|for|with|on|to|at|from))\s+$", re.IGNORECASE
)
# "Why did Marie Curie leave her town", "How does the bank set its rates", "Does it keep its taste".
_OWNER = re.compile(
    r"(?<=\s)(?!I\b)[^\W\d_a-z]\w*|(?i:\b(?:the|an?|each|every|my|our|your)\s+[a-z]|\b(?:it|they|he|she)\b)"
)
_ASKS_WHO = re.compile(r"^(?:by\s+|to\s+|for\s+|with\s+)?(?:who|whom|whose)\b", re.IGNORECASE)  # "Who …", "By who …".


def find_reference(question: str) -> re.Match[str] | None:
    """Return the first word of a question that refers to something outside it, or None."""
    masked = mask_text(question)
    for match in _REFERENCE.finditer(masked):
        before = masked[: match.start()]
        is_expletive = match[0].lower() == "it" and _EXPLETIVE.match(masked, match.start())
        is_that = bool(match["noun"]) and match[0].lower().startswith("that")
        # "that" begins a noun phrase, no clause, after an auxiliary or preposition, or at the end.
        ends = not masked[match.end() :].strip(" ?.!")
        is_clause = is_that and not ends and not _BEFORE_NOUN_PHRASE.search(before)
        if not is_expletive and not is_clause and not (match["owner"] and _OWNER.search(before)):
            return match
    return None


def is_follow_up(question: str, earlier: str) -> bool:
    """Return whether a question refers to the answer of an earlier one ("who …" and "that author", "he")."""
    target, reference = _QUESTION_TARGET.match(earlier), find_reference(question)
    if target is None or reference is None:
        return False
    if reference["noun"]:
        return True
    word = reference[0].lower()
    if target["place"]:
        return word == "there"
    kind = (target["kind"] or target["role"] or "").lower()
    is_plural = word in ("they", "them", "their")
    if kind and kind not in _PERSON_NOUNS | _ENTITY_NOUNS and not (is_plural and _is_plural(kind)):
        return False
    person = target["person"] or kind in _PERSON_NOUNS
    if word in ("he", "she", "him", "her", "his", "hers"):
        return bool(person)
    return not person or is_plural


def resolve_reference(question: str, name: str) -> str:
    """Replace the first reference of a question with a name; a question without a reference is returned unchanged."""
    match = find_reference(question)
    if match is None:
        return question
    possessive = f"{name}'" if name.endswith("s") else f"{name}'s"
    word = f"in {name}" if match["there"] else possessive if match["owns"] or match["owner"] else name
    return question[: match.start()] + word + question[match.end() :]


def find_plural_antecedent(question: str, earlier: str) -> str:
    """Return the plural noun of an earlier question to which a later one refers ("which models", "they"), or ""."""
    target = _QUESTION_TARGET.match(earlier)
    kind = (target["kind"] or "") if target else ""
    reference = find_reference(question) if _is_plural(kind) else None
    return kind if reference and reference[0].lower() in ("they", "them", "their") else ""


def extract_answer_name(question: str, texts: Iterable[str]) -> str:
    """Return the name that most likely answers a question; empty if no sentence covers the question.

    A name qualifies if its sentence has at least `MIN_COVERAGE` of the question's content words and the name does not
    occur in the question. A single word answers "who" only in a sentence with all content words. The texts are ordered
    by relevance; the first of equal candidates wins.
    """
    stems = set(stem_words(question))
    sentences = [sentence.text for text in texts for sentence in split_sentences(text)]
    names: dict[str, str] = {}
    for sentence in sentences:
        names |= extract_entity_spellings(sentence)
    names = {key: name for key, name in names.items() if not stems.intersection(stem_words(name))}
    best, best_coverage = "", 0.0
    for sentence in sentences:
        coverage = len(stems.intersection(stem_words(sentence))) / max(len(stems), 1)
        words = f" {normalize_name(sentence)} "
        for key, name in names.items():
            is_certain = " " in name or coverage == 1 or not _ASKS_WHO.match(question)
            if is_certain and coverage > best_coverage and f" {key} " in words:
                best, best_coverage = name, coverage
    return best if best_coverage >= MIN_COVERAGE else ""


def _is_plural(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith("ss")
