"""Analogies: what two things have in common, said of each by sources, and where the likeness ends.

What is said of one thing and what is said of the other are laid side by side without the names of the two. Pairs that
are near each other then are patterns that both share; sentences that set one against the other are its limits.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.algorithms.reasoning.arguments import (
    NOTHING,
    Argument,
    Statement,
    Step,
    floor,
    nearness,
    statements,
    subject,
    weakest,
)
from tenure.algorithms.retrieval.mmr import mmr
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.questions import compared
from tenure.algorithms.text.sentences import stems

PAIRS, LIMITS = 3, 3
"""Patterns that are mapped and limits that are named, at the most."""
ALIKE: Final = 0.7
"""Cosine from which two statements without the names of their things say the same of both."""
CONSIDERED: Final = 20
"""Statements on each thing that are laid side by side."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_AS = re.compile(r"\s+as\s+.*$", re.IGNORECASE)
_ALSO = re.compile(r"\b(?:both|same|like|similar(?:ly)?|alike|equally|likewise|in\s+common)\b", re.IGNORECASE)
_APART = re.compile(
    r"\b(?:unlike|whereas|while|but|however|differ\w*|instead|rather\s+than|in\s+contrast|contrary|on\s+the\s+other\s+hand|"
    r"cannot|not|never|no\s+longer|more|less|fewer|\w+er\s+than|replac\w+|supersed\w+)\b|;\s",
    re.IGNORECASE,
)


class _Pair(NamedTuple):
    one: Statement
    other: Statement
    alike: float


def mapped(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return what the two things that a question compares share, and where they part."""
    sides = compared(question)
    if sides is None:
        return NOTHING
    names = [frozenset(stems(_AS.sub("", side))) for side in sides]
    said = statements(passages)
    both = [one for one in said if all(name and name <= set(stems(one.text)) for name in names)]
    one, other = (_on(names[n], names[1 - n], said, passages)[:CONSIDERED] for n in (0, 1))
    pairs = _pairs(one, other, names[0] | names[1], encode)
    asked = subject(question, passages)
    shared, likes = _nearest(asked, [one for one in both if _ALSO.search(one.text)], encode)
    apart = [one for one in both if _APART.search(one.text) and one not in shared]
    limits, differs = _nearest(asked, apart, encode)
    if len(pairs) + len(shared) + len(limits) < 2:
        return NOTHING
    steps = [Step("pattern", one.text, one.passage) for one in shared]
    for pair in pairs:
        steps += [
            Step("pattern", pair.one.text, pair.one.passage),
            Step("mapping", pair.other.text, pair.other.passage, (len(steps) + 1,)),
        ]
    steps += [Step("limit", one.text, one.passage) for one in limits]
    return Argument(tuple(steps), confidence=weakest([*likes, *differs, *(pair.alike for pair in pairs)]))


def _on(
    name: frozenset[str], other: frozenset[str], said: Sequence[Statement], passages: Sequence[Passage]
) -> list[Statement]:
    """Return what is said of a thing and not of the other: in a sentence, or in a document that is called for it."""
    titled = [set(stems(passage.title)) for passage in passages]
    return [
        one
        for one in said
        if not other <= (words := set(stems(one.text))) | titled[one.passage - 1]
        and (name <= words or (name <= titled[one.passage - 1] and not other & words))
    ]


def _pairs(
    ones: Sequence[Statement], others: Sequence[Statement], names: frozenset[str], encode: Encoder
) -> list[_Pair]:
    """Return what is said alike of both, the likest first, each statement once."""
    if not ones or not others:
        return []
    vectors = encode([_without(one.text, names) for one in (*ones, *others)])
    likeness = vectors[: len(ones)] @ vectors[len(ones) :].T
    ranked = sorted(((float(likeness[i, j]), i, j) for i in range(len(ones)) for j in range(len(others))), reverse=True)
    pairs: list[_Pair] = []
    taken: set[tuple[str, int]] = set()
    for alike, i, j in ranked:
        if alike < ALIKE or len(pairs) == PAIRS:
            break
        if not taken & {("one", i), ("other", j)}:
            taken |= {("one", i), ("other", j)}
            pairs.append(_Pair(ones[i], others[j], alike))
    return pairs


def _without(text: str, names: frozenset[str]) -> str:
    """Return a sentence without the names of things."""
    return _WORD.sub(lambda word: "" if names.intersection(stems(word.group())) else word.group(), text)


def _nearest(asked: str, pool: Sequence[Statement], encode: Encoder) -> tuple[list[Statement], list[float]]:
    """Return the statements nearest to what is asked that do not repeat each other, with their cosines."""
    near, vectors = nearness(asked, [one.text for one in pool], encode)
    chosen = mmr(near, vectors, LIMITS, floor=floor(near)) if pool else []
    return [pool[n] for n in chosen], [near[n] for n in chosen]
