"""Resolve the pronouns of a question by the noun phrases of an earlier one (anaphora resolution by patterns).

In "How did gradual typing come to Python, and what does it cost?" the pronoun refers to the subject of the first
question. A pronoun without one certain antecedent is not replaced.
"""

import re

from tenure.algorithms.text.coreference import PERSON_NOUNS, resolve_reference
from tenure.algorithms.text.grammar.masking import mask_text
from tenure.algorithms.text.grammar.noun_phrases import NounPhrases, find_noun_phrases, is_agreeing

_REFERENCE = re.compile(
    r"\b(?:(?P<owner>its|their|his|her(?=\s+[^\W\d_]))|(?P<person>he|she|him|her)|(?P<thing>it)|(?P<plural>they|them|these(?=\s+(?:compare|differ)\b))"
    r"|(?P<idea>(?:this|that)(?=\s+(?:compare|differ|affect|relate|change|work|cost|happen|matter)\b|\W*$))"
    r"|(?P<noun>(?:this|that|these|those|such)\s+(?!(?:is|are|was|were|can|could|will|would|do|does|did|has|have|had|the|an?|it|they"
    r"|he|she|i|we|you|way|time|year|month|week|day|days|much|many|extent)\b)[^\W\d_][\w-]*)"
    r"|(?P<one>(?<!which\s)(?<!no\s)ones?(?=\W*$|\s+(?:is|are|was|has|does|should|would|better|faster)\b)|(?:which\s+)ones?|of\s+them)"
    r"|(?P<there>(?<!is\s)(?<!are\s)(?<!was\s)(?<!were\s)there(?!\s+(?:is|are|was|were|any)\b)))\b",
    re.IGNORECASE,
)
_EXPLETIVE = re.compile(
    r"\bit\s+(?:(?:be|really|still|also)\s+)*(?:(?:true|false|possible|impossible|worth|safe|legal|illegal|allowed|necessary"
    r"|important|better|best|good|bad|hard|easy|likely|common|normal|wise)\b.*\b(?:to|that|if|whether)\b"
    r"|worth\s+\w+ing\b|(?:takes?|costs?|makes?\s+sense|matters?)\s+to\b|(?:rain|snow)\w*\b|to\s+\w+)",
    re.IGNORECASE,
)
_CATEGORY = re.compile(
    r"\bthe\s+(?:same\s+)?(?:company|firm|building|word|term|original|book|film|movie|author|man|woman|person|project|decision"
    r"|place|idea|name|former|latter|others?|rest)\b(?!\s+(?:of|for|in|on|at|by|to|that|which|who|whose|with|from|behind)\b)",
    re.IGNORECASE,
)
"""Pattern of a noun phrase that stands for something named before ("the company")."""
_ABSTRACT = re.compile(
    r"^the\s+(?:(?:main|original)\s+)?(?:purpose|role|meaning|definition|aim|goal|function|point|idea|origin|history|name|use)\s+of\b",
    re.IGNORECASE,
)
"""Pattern of noun phrases of which rather the complement is referred to."""


def find_reference(question: str, start: int = 0) -> re.Match[str] | None:
    """Return the first word of a question from an offset that refers to something outside it, or None."""
    masked = mask_text(question)
    for match in _REFERENCE.finditer(masked, start):
        before = masked[: match.start()]
        if match["thing"] and _EXPLETIVE.match(masked, match.start()):
            continue
        if (
            match["noun"]
            and match[0].lower().startswith("that")
            and not _is_demonstrative(before, masked[match.end() :])
        ):
            continue
        if match["owner"] and _names_owner(before):
            continue
        return match
    return None


def is_standalone(question: str) -> bool:
    """Return whether no word of a question points to an earlier question, so that it can be looked up as it is."""
    return not find_reference(question) and resolve_reference(question, "") == question


def resolve_by_antecedent(question: str, earlier: str) -> str:
    """Replace the references of a question by noun phrases of an earlier question; empty if that is not certain."""
    phrases = find_noun_phrases(earlier)
    text = question
    start = 0
    while match := find_reference(text, start):
        antecedent = _find_antecedent(match, phrases)
        if not antecedent:
            return ""
        possessive = f"{antecedent}'" if antecedent.endswith("s") else f"{antecedent}'s"
        text = _join(text[: match.start()], possessive if match["owner"] else antecedent, text[match.end() :])
        start = match.start() + len(antecedent) + 1
        phrases = phrases.exclude(antecedent)
    return text


def has_unresolvable_reference(question: str) -> bool:
    """Return whether no single noun phrase can replace a reference ("which of them", "the company")."""
    masked = mask_text(question)
    return bool(_CATEGORY.search(masked)) or any(match["one"] for match in _REFERENCE.finditer(masked))


def _find_antecedent(reference: re.Match[str], phrases: NounPhrases) -> str:
    """Return the only noun phrase that agrees with a reference; a subject comes before complements and objects."""
    if reference["one"] or reference["there"]:
        return ""
    if reference["noun"]:
        return _find_repeated_noun(reference["noun"], phrases)
    word = reference[0].lower()
    if word in ("he", "she", "him", "her", "his"):
        persons = [phrase for phrase in (phrases.subject, phrases.object) if phrase and _is_person(phrase)]
        return persons[0] if len(persons) == 1 else ""
    is_plural = word in ("they", "them", "their", "these")
    if is_plural and _is_asked_meant(word, phrases):
        return ""
    if phrases.is_rivalry and all(
        is_agreeing(phrase, plural=is_plural) for phrase in (phrases.subject, phrases.object)
    ):
        return ""
    if phrases.subject and is_agreeing(phrases.subject, plural=is_plural):
        return _choose_between(phrases, plural=is_plural)
    if reference["idea"]:
        return ""
    others = [
        phrase for phrase in (phrases.object, *phrases.complements) if phrase and is_agreeing(phrase, plural=is_plural)
    ]
    return others[0] if len(others) == 1 else ""


def _is_asked_meant(word: str, phrases: NounPhrases) -> bool:
    """Return whether a plural pronoun may mean the noun that is asked for ("how many moons") instead of the subject."""
    if not phrases.asked or not is_agreeing(phrases.asked, plural=True):
        return False
    return word != "they" or not phrases.subject or is_agreeing(phrases.subject, plural=False)


def _choose_between(phrases: NounPhrases, *, plural: bool) -> str:
    """Return the subject or its complement ("the purpose of PEP 8"); empty if a pronoun may mean either."""
    rivals = [phrase for phrase in phrases.complements if is_agreeing(phrase, plural=plural)]
    if len(rivals) != 1 or plural:
        return phrases.subject
    if _ABSTRACT.match(phrases.subject):
        return rivals[0]
    return "" if rivals[0].lower().startswith("the ") else phrases.subject


def _find_repeated_noun(reference: str, phrases: NounPhrases) -> str:
    """Return the noun phrase that ends with the noun of "this method"; empty if none or several do."""
    noun = reference.split()[-1].lower()
    found = [p for p in (phrases.subject, phrases.object) if p and noun in p.lower().split()]
    return found[0] if len(found) == 1 else ""


def _is_person(phrase: str) -> bool:
    words = phrase.split()
    return all(word[0].isupper() or word in ("van", "von", "de", "da", "der") for word in words) or any(
        word.lower() in PERSON_NOUNS for word in words
    )


def _is_demonstrative(before: str, after: str) -> bool:
    """Return whether "that" begins a noun phrase, no clause: after an auxiliary or preposition, or at the end."""
    return not after.strip(" ?.!") or bool(
        re.search(
            r"(?:^|\b(?:do|does|did|is|are|was|were|can|of|in|by|for|with|on|to|at|from))\s+$", before, re.IGNORECASE
        )
    )


def _names_owner(before: str) -> bool:
    """Return whether the text before a possessive names its owner."""
    return bool(
        re.search(r"(?<=\s)(?!I\b)[^\W\d_a-z]\w*|\b(?:the|an?|each|every|my|our|your)\s+[a-z]", before)
    ) or bool(re.search(r"\b(?:it|they|he|she)\b", before, re.IGNORECASE))


def _join(before: str, phrase: str, after: str) -> str:
    """Insert a noun phrase between texts, with a capital at the start of a sentence."""
    if not before.strip():
        return phrase[0].upper() + phrase[1:] + after
    return before + phrase + after
