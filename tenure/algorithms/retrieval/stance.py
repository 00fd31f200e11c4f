"""Detect the stance of a text towards a position by word overlap and negation.

The sentence that shares most words with the position represents the text. The text contradicts the position if exactly
one of the two is negated. This is a rough method: disagreement without a negation counts as support.
"""

import re

from tenure.algorithms.text.sentences import split_sentences, stem_words
from tenure.contracts.evidence.retrieval import PassageStance

MIN_SHARED_TERMS = 0.5
"""Minimum share of the position's words in a sentence that takes a stance."""
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nor|neither|without|cannot|\w+n[’']t|lacks?|lacking|fail(?:s|ed|ure)?|reject(?:s|ed)?|"
    r"den(?:y|ies|ied)|refut\w+|disprov\w+|disput\w+|contradict\w*|contrary|against|criticis\w+|criticiz\w+|"
    r"unlikely|unable|ineffective|harm(?:s|ful)?|drawbacks?|disadvantages?|unsuccessful\w*|myth|wrong|false)\b",
    re.IGNORECASE,
)
"""Words of negation; two of them cancel out."""


def detect_stance(position: str, text: str) -> PassageStance:
    """Return whether a text supports or contradicts a position, or is neutral."""
    position_stems = set(stem_words(_NEGATION.sub(" ", position)))
    sentence_texts = [sentence.text for sentence in split_sentences(text)]
    if not position_stems or not sentence_texts:
        return "neutral"
    shared = [len(position_stems & set(stem_words(sentence))) / len(position_stems) for sentence in sentence_texts]
    best = max(range(len(sentence_texts)), key=lambda n: shared[n])
    if shared[best] < MIN_SHARED_TERMS:
        return "neutral"
    return "supporting" if _is_negated(sentence_texts[best]) == _is_negated(position) else "contradicting"


def _is_negated(text: str) -> bool:
    return len(_NEGATION.findall(text)) % 2 == 1
