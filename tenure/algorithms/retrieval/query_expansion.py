"""Query expansion: words that relevant passages share and a query lacks (pseudo-relevance feedback)."""

from collections import Counter
from collections.abc import Sequence

from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import stems, words

LEAST_PASSAGES = 2
"""Passages that have to share a word: one author's choice of words says nothing about a subject."""
_LEAST_LETTERS = 4


def shared_words(query: str, passages: Sequence[Passage], most: int) -> list[str]:
    """Return words that passages share and a query has not, those of most passages first.

    Args:
        query: what has been asked.
        passages: what was found, best first; a better passage counts more.
        most: words at the most.
    """
    known = set(stems(query))
    seen: Counter[str] = Counter()
    weight: dict[str, float] = {}
    spelt: dict[str, str] = {}
    for rank, passage in enumerate(passages, 1):
        there = {stem: word for word in reversed(words(passage.text)) for stem in _content(word)}
        for stem, word in there.items():
            if stem not in known:
                spelt.setdefault(stem, word)
                seen[stem] += 1
                weight[stem] = weight.get(stem, 0.0) + 1 / rank**0.5
    shared = [stem for stem in seen if seen[stem] >= LEAST_PASSAGES]
    return [spelt[stem] for stem in sorted(shared, key=lambda stem: (-weight[stem], stem))[:most]]


def _content(word: str) -> list[str]:
    """Return the stem of a word that may carry a topic; numbers and very short words tell passages apart, no more."""
    return stems(word) if len(word) >= _LEAST_LETTERS and not word.isdigit() else []
