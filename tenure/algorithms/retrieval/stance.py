"""Detect the stance of a text towards a position, and the position that a question contains.

The sentence that shares most words with the position represents the text. If it states or denies the position in the
same words, it decides, as in the check of a claim. Otherwise four comparisons of the two vote: one of
them is negated and the other is not; their directions of change are opposite; one uses antonyms of the other's words;
an odd number of words of negation or decrease separates them. The same direction, and negation on both sides, count
against. Two votes make a contradiction, none makes support, and one leaves the text neutral; a negation alone suffices
if the sentence has most words of the position and no direction. A comparison with its sides exchanged ("B is better
than A") reverses the result. Words that most of the compared texts contain, such as the name of their common subject,
weigh little. Word lists are English; a disagreement in other words than these counts as support.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from tenure.algorithms.claims.entailment import compare_with_sentence
from tenure.algorithms.text.polarity import compare_antonyms, compare_directions, is_polarity_reversed
from tenure.algorithms.text.questions import split_question
from tenure.algorithms.text.sentences import Sentence, split_sentences, stem_words
from tenure.contracts.evidence.retrieval import PassageStance

MIN_SHARED_TERMS: Final = 0.4
"""Minimum share of the position's words in a sentence that takes a stance."""
MIN_SHARED_COUNT: Final = 2
"""Minimum number of the position's words in such a sentence, unless the position has fewer."""
MIN_NEGATED_SHARE: Final = 0.7
"""Minimum share of the position's words in a sentence whose negation alone contradicts the position."""
CONTRADICTING_VOTES: Final = 2
"""Votes for opposite polarity from which a sentence contradicts the position."""
MAX_QUESTION_CHARACTERS: Final = 2_000
"""Characters of a question that patterns read."""
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nor|neither|without|cannot|\w+n[’']t|lacks?|lacking|fail(?:s|ed|ure)?|reject(?:s|ed)?|"
    r"den(?:y|ies|ied)|refut\w+|disprov\w+|disput\w+|contradict\w*|contrary|against|criticis\w+|criticiz\w+|"
    r"unlikely|unable|ineffective|harm(?:s|ful)?|drawbacks?|disadvantages?|unsuccessful\w*|myth|wrong|false)\b",
    re.IGNORECASE,
)
"""Words of negation; two of them cancel out."""
_ENDS: Final = tuple('.!)"”’')
_COMPARATIVE = re.compile(
    r"\b(?:better|worse|(?:more|less)\s+\w+|(?!other\b|rather\b)\w{2,}er)\s+than\b", re.IGNORECASE
)
_POSITION = re.compile(
    r"^(?:"
    r"should\b|ought\b|what (?:are the (?:pros and cons|advantages and disadvantages)|speaks (?:for|against))\b|"
    r"is it (?:true|correct|false|a myth|safe|worth|better|worse|wise|right|wrong|necessary|useful|harmful)\b|"
    r"(?:is|are|was|were)(?:n[’']t)?\b.{1,200}?\b(?:superior|inferior|preferable|better|worse|safe|unsafe|harmful|"
    r"harmless|effective|ineffective|useful|useless|worth|worthwhile|good|bad|healthy|unhealthy|dangerous|beneficial|"
    r"necessary|justified|overrated|overkill|enough|sufficient|suitable|a myth|(?:more|less) (?!than\b)\w+ than|"
    r"(?!other\b|rather\b|old|young|tall|earli|lat|larg|small)\w{2,}er than)\b|"
    r"(?:do|does|did|can|could|will|would)(?:n[’']t)?\b.{1,200}?\b(?:cause|prevent|increase|decrease|reduce|improve|"
    r"worsen|help|harm|make sense|pay off|recommend|lead to|cure|protect|raise|lower|hurt|boost|benefit|outperform|"
    r"(?:make|makes)\b.{1,100}?\b(?:better|worse|\w{2,}er))\b"
    r")",
    re.IGNORECASE,
)
"""Questions that assert something on which sources can take sides: advice, evaluations, comparisons, effects."""


TermWeights = Mapping[str, float]
"""Weight of each word of a position."""


def find_position(question: str) -> str:
    """Return the first part of a question that contains a position; empty if none does."""
    parts = split_question(question[:MAX_QUESTION_CHARACTERS])
    return next((part for part in parts if _POSITION.match(part.strip())), "")


def choose_position(query: str, question: str) -> str:
    """Return the position that a task is to be searched for from both sides.

    It is the position of its query, otherwise that of the question of the run; without one it is the query itself.
    """
    return find_position(query) or find_position(question) or query


def weigh_terms(position: str, texts: Sequence[str]) -> TermWeights:
    """Return the weight of each word of a position: the fewer of the texts contain it, the more it weighs."""
    stems_by_text = [set(stem_words(text)) for text in texts]
    return {
        stem: math.log((len(texts) + 1) / (sum(stem in stems for stems in stems_by_text) + 0.5))
        for stem in _list_terms(position)
    }


def find_stance_sentence(
    position: str, text: str, stance: PassageStance, weights: TermWeights | None = None
) -> Sentence | None:
    """Return the sentence of a text that takes a known side best; None if no sentence is near to the position."""
    ranked = list(_rank_sentences(position, text, weights))
    return next((one for one in ranked if _compare(position, one.text) == stance), ranked[0] if ranked else None)


def _rank_sentences(position: str, text: str, weights: TermWeights | None) -> Iterator[Sentence]:
    """Yield the quotable sentences that share enough words with a position, nearest first."""
    terms = _list_terms(position)
    if not terms:
        return
    needed = min(MIN_SHARED_COUNT, len(terms))
    shares = {
        one: _share_terms(terms, stems, weights)
        for one in split_sentences(text)
        if _is_quotable(one) and len(terms & (stems := set(stem_words(one.text)))) >= needed
    }
    near = (one for one in shares if shares[one] >= MIN_SHARED_TERMS)
    yield from sorted(near, key=lambda one: (-shares[one], one.start))


def _list_terms(position: str) -> set[str]:
    """Return the stems of a position, without negations."""
    return set(stem_words(_NEGATION.sub(" ", position)))


def _is_quotable(sentence: Sentence) -> bool:
    """Return whether a sentence states something; headings and questions do not."""
    return sentence.text.rstrip().endswith(_ENDS)


def _compare(position: str, sentence: str) -> PassageStance:
    verdict = compare_with_sentence(position, sentence)
    if verdict != "neutral":
        return "supporting" if verdict == "supported" else "contradicting"
    direction = compare_directions(position, [sentence])
    negated = (_is_negated(position), _is_negated(sentence))
    is_near = (
        direction == "silent" and _share_terms(_list_terms(position), set(stem_words(sentence))) >= MIN_NEGATED_SHARE
    )
    votes = (
        (CONTRADICTING_VOTES if is_near else 1) * (negated[0] != negated[1])
        + (direction == "conflicts")
        - (direction == "agrees")
        + (compare_antonyms(position, sentence) == "conflicts")
        + is_polarity_reversed(position, [sentence])
        - CONTRADICTING_VOTES * all(negated)
    )
    if 0 < votes < CONTRADICTING_VOTES:
        return "neutral"
    is_opposite = votes >= CONTRADICTING_VOTES
    return "contradicting" if is_opposite != _is_exchanged(position, sentence) else "supporting"


def _share_terms(terms: Collection[str], stems: Collection[str], weights: TermWeights | None = None) -> float:
    """Return the share of a position's words, by weight, that a sentence contains."""
    total = sum(weights.get(term, 1.0) if weights else 1.0 for term in terms)
    shared = sum(weights.get(term, 1.0) if weights else 1.0 for term in terms if term in stems)
    return shared / total if total else 0.0


def _is_negated(text: str) -> bool:
    return len(_NEGATION.findall(text)) % 2 == 1


def _is_exchanged(position: str, sentence: str) -> bool:
    """Return whether both compare the same two things with exchanged sides."""
    sides = [_split_comparison(text) for text in (position, sentence)]
    if not sides[0] or not sides[1]:
        return False
    (left, right), (other_left, other_right) = sides[0], sides[1]
    straight = len(left & other_left) + len(right & other_right)
    return len(left & other_right) > 0 and len(right & other_left) > 0 and straight == 0


def _split_comparison(text: str) -> tuple[set[str], set[str]] | None:
    match = _COMPARATIVE.search(text)
    if match is None:
        return None
    return set(stem_words(text[: match.start()])), set(stem_words(text[match.end() :]))
