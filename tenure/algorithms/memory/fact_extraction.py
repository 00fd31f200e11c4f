"""Extract subject, relation and object of a sentence by rules.

Only plain statements give a fact: the sentence begins with its subject, apart from an article or a short adverbial
phrase, and a verb of relation follows directly. Conditions, reported speech and possibilities give none.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.phrases import extract_terms, normalize_term
from tenure.algorithms.text.sentences import STOP_WORDS, split_sentences
from tenure.contracts.knowledge.memory import MAX_FACT_CHARS, FactDetails

MAX_SUBJECT_WORDS: Final = 5
"""Maximum words of a subject that is no name."""
MAX_RELATION_WORDS: Final = 7  # "was built on behalf of the" has six.

# "is", "contains", "was", and past forms as "founded"; not "hundred".
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|became|becomes|lies|stands|belongs|contains?|includes?|consists?|causes?|leads?|"
    r"uses?|owns?|means|runs|flows|provides?|supports?|requires?|replaces?|defines?|specifies|describes?|allows?|"
    r"wrote|built|made|(?!hundred\b)[a-z]{2,}[b-df-hj-np-z]ed)\b"
)
_ADVERBIAL = re.compile(r"^(?:(?:In|At|On|During|By|Since|After|Before)\s(?:\S+\s){1,3})?(?:(?:[Tt]he|[Aa]n?)\s)?$")
"""Words that may precede a name that is the subject."""
# "If it rains, …", "He said that …", "It may close", "Is it open?".
_UNSURE = re.compile(
    r"^(?:if|unless|whether|although|though|while|when)\b|\b(?:according to|allegedly|reportedly|supposedly|probably|"
    r"perhaps|possibly|might|may|could|would|should|claims?|claimed|says?|said|believed?s?|argued?s?)\b|\?\s*$",
    re.IGNORECASE,
)
# "A, B", "A and B", "A that B": the words around it are no name and no relation.
_CLAUSE_BREAK = re.compile(r"[,;:()\[\]\"“”]|\b(?:and|or|but|that|which|who|whose|where)\b")
_ARTICLE = re.compile(r"^(?:the|an?)\s", re.IGNORECASE)  # "The mill", "a mill".


class _Mention(NamedTuple):
    """Name or noun phrase at its position in a sentence."""

    start: int
    end: int
    text: str


def extract_fact(text: str) -> FactDetails | None:
    """Return the relation that a sentence states; None for another text, or if its parts are not certain."""
    sentences = split_sentences(text)
    if len(sentences) != 1 or _UNSURE.search(text):
        return None
    mentions = sorted(_list_mentions(text), key=lambda mention: (mention.start, -mention.end))
    for verb in _VERB.finditer(text):
        subject = _find_subject(text, verb.start(), mentions)
        if subject:
            return _build_fact(text, subject, verb, mentions)
    return None


def _list_mentions(text: str) -> Iterator[_Mention]:
    for name in (*extract_entity_spellings(text).values(), *extract_terms(text)):
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            yield _Mention(match.start(), match.end(), name)


def _find_subject(text: str, end: int, mentions: list[_Mention]) -> str:
    """Return the name directly before the verb, or else all words before it; empty if neither can be the subject."""
    before = text[:end].rstrip()
    for mention in mentions:
        if mention.end == len(before) and _ADVERBIAL.match(text[: mention.start]):
            return mention.text
    phrase = _ARTICLE.sub("", before)
    words = phrase.split()
    if not words or len(words) > MAX_SUBJECT_WORDS or _CLAUSE_BREAK.search(phrase):
        return ""
    return "" if {words[0].lower(), words[-1].lower()} & STOP_WORDS else phrase


def _build_fact(text: str, subject: str, verb: re.Match[str], mentions: list[_Mention]) -> FactDetails | None:
    """Return the fact with the first name or noun phrase after the verb as its object."""
    target = next((mention for mention in mentions if mention.start >= verb.end()), None)
    if target is None:
        return None
    relation = " ".join(text[verb.start() : target.start].split())
    if len(relation.split()) > MAX_RELATION_WORDS or _CLAUSE_BREAK.search(relation):
        return None
    keys = normalize_term(subject), normalize_term(target.text)
    if not all(keys) or keys[0] == keys[1] or max(map(len, (subject, relation, target.text))) > MAX_FACT_CHARS:
        return None
    return FactDetails(subject=subject, predicate=relation, object=target.text)
