"""Reflexion: how often what was criticised is made again, and when criticism has said all it has to say (003).

Sections, reports and programs are all made, criticised in words and made again with these words in mind. What they
share stands here: the bound, and the fixed point. The order of making and criticising is `transitions.py`'s.
"""

from collections.abc import Iterable

from tenure.algorithms.text.sentences import fingerprint


def most_made(limit: int, made: int, *, asked: bool, finishing: bool) -> int:
    """Return how often a thing may be made: a person's word is worth one time more than the limit, a finish none.

    Args:
        limit: times that it may be made without a person's word.
        made: times that it was made.
        asked: whether a person has said something that it was not made with.
        finishing: whether it is to be left as it is.
    """
    if finishing:
        return 0
    return max(limit, made + 1 if asked else 0)


def repeats(critique: str, earlier: Iterable[str]) -> bool:
    """Tell whether a critique says in the same words what was said before, so that following it again is in vain."""
    said = fingerprint(critique)
    return any(said == fingerprint(one) for one in earlier)
