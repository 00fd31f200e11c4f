"""Sides: what a text says to a position, judged by words alone (document 003, contrastive retrieval).

The sentence that shares most words with the position speaks for the text. Where it denies what the position
affirms, or the other way round, it contradicts. Words tell that only roughly: a text that disagrees without a
word of denial counts as supporting.
"""

import re

from tenure.algorithms.text.sentences import sentences, stems
from tenure.contracts.evidence.retrieval import Side

LEAST_SHARED = 0.5
"""Share of the position's words that a sentence needs to take a side."""
_DENIAL = re.compile(
    r"\b(?:no|not|never|none|nor|neither|without|cannot|\w+n[’']t|lacks?|lacking|fail(?:s|ed|ure)?|reject(?:s|ed)?|"
    r"den(?:y|ies|ied)|refut\w+|disprov\w+|disput\w+|contradict\w*|contrary|against|criticis\w+|criticiz\w+|"
    r"unlikely|unable|ineffective|harm(?:s|ful)?|drawbacks?|disadvantages?|unsuccessful\w*|myth|wrong|false)\b",
    re.IGNORECASE,
)
"""Words that deny, each pair of which affirms again."""


def side(position: str, text: str) -> Side:
    """Return the side of a position that a text is on."""
    wanted = set(stems(_DENIAL.sub(" ", position)))
    said = [sentence.text for sentence in sentences(text)]
    if not wanted or not said:
        return "neutral"
    shared = [len(wanted & set(stems(sentence))) / len(wanted) for sentence in said]
    best = max(range(len(said)), key=lambda n: shared[n])
    if shared[best] < LEAST_SHARED:
        return "neutral"
    return "supporting" if _denies(said[best]) == _denies(position) else "contradicting"


def _denies(text: str) -> bool:
    return len(_DENIAL.findall(text)) % 2 == 1
