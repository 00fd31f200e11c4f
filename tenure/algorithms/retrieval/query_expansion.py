"""Expand a query with frequent words of the top passages (pseudo-relevance feedback)."""

from collections import Counter
from collections.abc import Sequence

from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import split_words, stem_words

MIN_PASSAGES = 2
"""Minimum passages that must share a word; a word of a single author is not typical of the subject."""
_MIN_CHARACTERS = 4


def extract_feedback_terms(query: str, passages: Sequence[Passage], max_terms: int) -> list[str]:
    """Return words that several passages, best first, share and the query lacks, highest weight first.

    The weight of a word is the sum of 1 / sqrt(rank) over its passages.
    """
    query_stems = set(stem_words(query))
    passage_counts: Counter[str] = Counter()
    weight: dict[str, float] = {}
    spellings: dict[str, str] = {}
    for rank, passage in enumerate(passages, 1):
        # Numbers and very short words express no topic.
        words = (w for w in reversed(split_words(passage.text)) if len(w) >= _MIN_CHARACTERS and not w.isdigit())
        words_by_stem = {stem: word for word in words for stem in stem_words(word)}
        for stem, word in words_by_stem.items():
            if stem not in query_stems:
                spellings.setdefault(stem, word)
                passage_counts[stem] += 1
                weight[stem] = weight.get(stem, 0.0) + 1 / rank**0.5
    shared = [stem for stem in passage_counts if passage_counts[stem] >= MIN_PASSAGES]
    return [spellings[stem] for stem in sorted(shared, key=lambda stem: (-weight[stem], stem))[:max_terms]]
