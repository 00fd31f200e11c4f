"""Find analogies between two things without a model: shared features and the limits of the analogy.

Statements on each thing are compared after their names are removed. Pairs with high cosine similarity are shared
features; sentences that contrast the two things are limits.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.algorithms.reasoning.arguments import (
    EMPTY_ARGUMENT,
    Argument,
    ArgumentStep,
    StandaloneSentence,
    choose_min_similarity,
    compute_confidence,
    compute_similarities,
    extract_standalone_sentences,
    extract_subject,
)
from tenure.algorithms.retrieval.mmr import select_by_mmr
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.questions import extract_compared_items
from tenure.algorithms.text.sentences import stem_words

MAX_PAIRS, MAX_LIMITS = 3, 3
"""Maximum number of shared features and of limits."""
MIN_PAIR_SIMILARITY: Final = 0.7
"""Minimum cosine similarity of two statements without names that describe the same feature."""
MAX_STATEMENTS: Final = 20
"""Maximum number of statements on each thing."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_AS = re.compile(r"\s+as\s+.*$", re.IGNORECASE)
_ALSO = re.compile(r"\b(?:both|same|like|similar(?:ly)?|alike|equally|likewise|in\s+common)\b", re.IGNORECASE)
_APART = re.compile(
    r"\b(?:unlike|whereas|while|but|however|differ\w*|instead|rather\s+than|in\s+contrast|contrary|on\s+the\s+other\s+hand|"
    r"cannot|not|never|no\s+longer|more|less|fewer|\w+er\s+than|replac\w+|supersed\w+)\b|;\s",
    re.IGNORECASE,
)


class _StatementPair(NamedTuple):
    one: StandaloneSentence
    other: StandaloneSentence
    similarity: float


def find_analogy(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return the shared features and the differences of the two things that a question compares."""
    sides = extract_compared_items(question)
    if sides is None:
        return EMPTY_ARGUMENT
    names = [frozenset(stem_words(_AS.sub("", side))) for side in sides]
    statements = extract_standalone_sentences(passages)
    both = [first for first in statements if all(name and name <= set(stem_words(first.text)) for name in names)]
    first, second = (_select_statements(names[n], names[1 - n], statements, passages)[:MAX_STATEMENTS] for n in (0, 1))
    pairs = _pair_statements(first, second, names[0] | names[1], encode)
    asked = extract_subject(question, passages)
    shared, likes = _select_nearest(asked, [first for first in both if _ALSO.search(first.text)], encode)
    apart = [first for first in both if _APART.search(first.text) and first not in shared]
    limits, differs = _select_nearest(asked, apart, encode)
    if len(pairs) + len(shared) + len(limits) < 2:
        return EMPTY_ARGUMENT
    steps = [ArgumentStep("pattern", first.text, first.passage_number) for first in shared]
    for pair in pairs:
        steps += [
            ArgumentStep("pattern", pair.one.text, pair.one.passage_number),
            ArgumentStep("mapping", pair.other.text, pair.other.passage_number, (len(steps) + 1,)),
        ]
    steps += [ArgumentStep("limit", first.text, first.passage_number) for first in limits]
    return Argument(
        tuple(steps), confidence=compute_confidence([*likes, *differs, *(pair.similarity for pair in pairs)])
    )


def _select_statements(
    name: frozenset[str], other: frozenset[str], statements: Sequence[StandaloneSentence], passages: Sequence[Passage]
) -> list[StandaloneSentence]:
    """Return statements on a thing and not on the other, by their sentence or by the title of their document."""
    titled = [set(stem_words(passage.title)) for passage in passages]
    return [
        statement
        for statement in statements
        if not other <= (words := set(stem_words(statement.text))) | titled[statement.passage_number - 1]
        and (name <= words or (name <= titled[statement.passage_number - 1] and not other & words))
    ]


def _pair_statements(
    ones: Sequence[StandaloneSentence], others: Sequence[StandaloneSentence], names: frozenset[str], encode: Encoder
) -> list[_StatementPair]:
    """Return similar statements on both things, most similar first, each statement once."""
    if not ones or not others:
        return []
    vectors = encode([_remove_names(statement.text, names) for statement in (*ones, *others)])
    likeness = vectors[: len(ones)] @ vectors[len(ones) :].T
    ranked = sorted(((float(likeness[i, j]), i, j) for i in range(len(ones)) for j in range(len(others))), reverse=True)
    pairs: list[_StatementPair] = []
    taken: set[tuple[str, int]] = set()
    for alike, i, j in ranked:
        if alike < MIN_PAIR_SIMILARITY or len(pairs) == MAX_PAIRS:
            break
        if not taken & {("one", i), ("other", j)}:
            taken |= {("one", i), ("other", j)}
            pairs.append(_StatementPair(ones[i], others[j], alike))
    return pairs


def _remove_names(text: str, names: frozenset[str]) -> str:
    return _WORD.sub(lambda word: "" if names.intersection(stem_words(word.group())) else word.group(), text)


def _select_nearest(
    asked: str, pool: Sequence[StandaloneSentence], encode: Encoder
) -> tuple[list[StandaloneSentence], list[float]]:
    """Return diverse statements that are nearest to the question, with their cosine similarities."""
    near, vectors = compute_similarities(asked, [statement.text for statement in pool], encode)
    chosen = select_by_mmr(near, vectors, MAX_LIMITS, min_score=choose_min_similarity(near)) if pool else []
    return [pool[n] for n in chosen], [near[n] for n in chosen]
