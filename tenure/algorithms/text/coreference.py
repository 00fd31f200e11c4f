"""Resolve references between the parts of a question (coreference resolution by patterns).

In "Who wrote it, and where was he born?" the second question refers to the answer of the first. Patterns detect which
questions refer to an earlier answer, and select a name from the evidence as that answer. A resolved question can be
searched for on its own.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from tenure.algorithms.text.sentences import STOP_WORDS, split_sentences, stem_words

MIN_COVERAGE: Final = 0.6
"""Minimum share of the question's content words in a sentence that may contain the answer."""

_NOT_A_KIND = "is|are|was|were|be|did|do|does|has|have|had|can|could|will|would|should|may|might|must|if|happens?"
_QUESTION_TARGET = re.compile(
    r"^(?:(?:in|at|on|by|from|of|for|to|with|and|but|or|also)\s+)*"
    r"(?:(?P<person>who|whom|whose)\b"
    rf"|(?:which|what)\s+(?!(?:{_NOT_A_KIND})\b)(?P<kind>[a-z][\w-]*)"
    r"|(?:what|which)\s+(?:is|are|was|were)\s+the\s+(?:name\s+of\s+the\s+)?(?P<role>[a-z][\w-]*)\s+(?:of|in|for|that|who)\b"
    r"|(?P<place>where)\b)",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\b(?:(?:that|this|these|those|the same|the said)\s+(?!(?:is|are|was|were|and|or|the)\b)"
    r"(?P<noun>(?!(?:they|he|she|it|we|you|i|compare|differ|relate|affect|happen|vary|impact)\b)[a-z][\w-]*)(?P<owns>['’]s)?"
    r"|(?P<of_person>his|her(?=\s+[a-z])|hers)|(?P<person>he|she|him|her)"
    r"|(?P<of_thing>its|their)|(?P<thing>it|they|them|there))\b",
    re.IGNORECASE,
)
PERSON_NOUNS: Final = frozenset(
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
_LINKS = "of|the|de|da|del|di|du|van|von|der|den|bin|al|la|le"
_WORD = r"(?:(?:[A-Z]\.)+|[A-Z][\w’'&-]*)"
_INNER_WORD = re.compile(r"(?<=[a-z,;])\s+(?P<word>(?P<first>[A-Z]\w*+)[\w’'&-]*+)")
_NAME = re.compile(rf"\b{_WORD}(?:\s+(?:(?:{_LINKS})\s+){{0,2}}(?:{_WORD}|\d+\b))*")


_PAST_VERB = re.compile(
    r"^(?:\w+ed|became|began|broke|brought|built|came|drove|gave|kept|led|lost|made|sent|took|went|won|wrote)$",
    re.IGNORECASE,
)
"""Pattern of verbs after "what" and "which" ("What led to …")."""
_ASKS_WHO = re.compile(r"^(?:by\s+|to\s+|for\s+|with\s+)?(?:who|whom|whose)\b", re.IGNORECASE)


class AnswerCandidate(NamedTuple):
    """Possible answer: a name in a sentence on the question."""

    coverage: float
    """Share of the question's content words in the sentence of the name."""
    name: str
    """The name."""


def is_follow_up(question: str, earlier: str) -> bool:
    """Return whether a question refers to the answer of an earlier one ("who …" and "that author", "he")."""
    target, reference = _QUESTION_TARGET.match(earlier), _REFERENCE.search(question)
    if target is None or reference is None:
        return False
    if reference["noun"]:
        return True
    if target["place"]:
        return reference[0].lower() == "there"
    word = reference[0].lower()
    if target["kind"] and (_PAST_VERB.match(target["kind"]) or (_is_plural(target["kind"]) and word in ("it", "its"))):
        return False
    if target["role"] and target["role"].lower() not in PERSON_NOUNS | _ENTITY_NOUNS:
        return False
    person = target["person"] or any(target[group] in PERSON_NOUNS for group in ("kind", "role") if target[group])
    if reference["of_person"] or reference["person"]:
        return bool(person)
    return not person or reference[0].lower() in ("they", "them", "their")


def resolve_reference(question: str, name: str) -> str:
    """Replace the first reference of a question with a name; a question without a reference is returned unchanged."""

    def substitute(match: re.Match[str]) -> str:
        is_possessive = match["owns"] or match["of_person"] or match["of_thing"]
        possessive = f"{name}'" if name.endswith("s") else f"{name}'s"
        return f"in {name}" if match[0].lower() == "there" else possessive if is_possessive else name

    return _REFERENCE.sub(substitute, question, count=1)


def find_plural_antecedent(question: str, earlier: str) -> str:
    """Return the plural noun of an earlier question to which a later one refers ("which models", "they"), or ""."""
    target = _QUESTION_TARGET.match(earlier)
    kind = (target["kind"] or "") if target else ""
    reference = _REFERENCE.search(question) if _is_plural(kind) else None
    return kind if reference and reference[0].lower() in ("they", "them", "their") else ""


def extract_answer_name(question: str, texts: Iterable[str]) -> str:
    """Return the name that most likely answers a question; empty if no sentence covers the question.

    A name qualifies if its sentence has at least `MIN_COVERAGE` of the question's content words and the name does not
    occur in the question. A single word answers "who" only in a sentence with all content words. The texts are ordered
    by relevance; the first of equal candidates wins.
    """
    question_stems = set(stem_words(question))
    all_texts = list(texts)
    inner_words = {word for text in all_texts for word in _find_inner_words(text)}
    candidates = [candidate for text in all_texts for candidate in _find_candidates(question_stems, text, inner_words)]
    if _ASKS_WHO.match(question):
        candidates = [candidate for candidate in candidates if " " in candidate.name or candidate.coverage == 1]
    best = max(candidates, key=lambda candidate: candidate.coverage, default=AnswerCandidate(0.0, ""))
    return best.name if best.coverage >= MIN_COVERAGE else ""


def extract_name_phrases(text: str) -> tuple[str, ...]:
    """Extract the runs of capitalised words of a sentence, without leading stop words."""
    found = (_strip_opening(match.group()) for match in _NAME.finditer(text))
    return tuple(name for name in found if name)


def _is_plural(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith("ss")


def _find_candidates(question_stems: set[str], text: str, inner_words: Collection[str]) -> Iterable[AnswerCandidate]:
    for sentence in split_sentences(text):
        coverage = len(question_stems.intersection(stem_words(sentence.text))) / max(len(question_stems), 1)
        for name in extract_name_phrases(sentence.text):
            # A single word may be capitalised only because it begins a sentence.
            is_name = " " in name or name in inner_words or not sentence.text.startswith(name)
            if is_name and not question_stems.intersection(stem_words(name)):
                yield AnswerCandidate(coverage, name)


def _find_inner_words(text: str) -> Iterator[str]:
    """Yield the capitalised words inside sentences, and the first parts of compounds."""
    for match in _INNER_WORD.finditer(text):
        yield match["first"]
        yield _strip_opening(match["word"])


def _strip_opening(name: str) -> str:
    words = name.rstrip("'’-&").split()
    while words and (words[0].lower() in STOP_WORDS or words[0].isdigit()):
        words.pop(0)
    return re.sub(r"['’]s$", "", " ".join(words))
