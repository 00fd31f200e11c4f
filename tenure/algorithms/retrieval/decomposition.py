"""Decompose questions into sub-questions and find their dependencies, by patterns without a model.

A comparison has two items and a difference. Joined questions are split at their conjunctions, and a part that refers to
the answer of an earlier part depends on it.
"""

from itertools import product
from typing import Final, NamedTuple

from tenure.algorithms.text.coreference import is_follow_up
from tenure.algorithms.text.questions import (
    extract_compared_items,
    extract_criteria,
    has_pronoun_reference,
    shorten,
    split_fragments,
    split_question,
)

MAX_SUB_QUESTIONS: Final = 6
"""Maximum sub-questions of a question."""
MAX_SUB_QUESTION_CHARACTERS: Final = 1000
"""Maximum characters of a sub-question."""


class QuestionPart(NamedTuple):
    """Sub-question with its dependencies."""

    question: str
    """The sub-question."""
    needs: tuple[int, ...] = ()
    """Numbers, from 1, of the parts on whose answers it depends."""


def decompose_question(question: str) -> tuple[QuestionPart, ...]:
    """Decompose a question into parts, in the order in which they should be answered."""
    pair = extract_compared_items(question)
    result = _decompose_comparison(*pair, extract_criteria(question)[:2]) if pair else _decompose_chain(question)
    return tuple(
        part._replace(question=shorten(part.question, MAX_SUB_QUESTION_CHARACTERS))
        for part in result[:MAX_SUB_QUESTIONS]
    )


def _decompose_comparison(a: str, b: str, criteria: tuple[str, ...]) -> tuple[QuestionPart, ...]:
    if not criteria:
        return (
            QuestionPart(f"What is {a}?"),
            QuestionPart(f"What is {b}?"),
            QuestionPart(f"How do {a} and {b} differ?", (1, 2)),
        )
    sides = tuple(QuestionPart(f"What is the {criterion} of {side}?") for side, criterion in product((a, b), criteria))
    return (
        *sides,
        *(
            QuestionPart(f"How do {a} and {b} compare in {criterion}?", (n, n + len(criteria)))
            for n, criterion in enumerate(criteria, 1)
        ),
    )


def _decompose_chain(question: str) -> tuple[QuestionPart, ...]:
    """Split a question at its conjunctions if each later part is independent or refers to an earlier answer."""
    fragments = tuple(dict.fromkeys(split_fragments(question)))
    needs = [_find_dependency(fragments, index) for index in range(len(fragments))]
    if not any(needs) or any(
        has_pronoun_reference(piece) and not needed for piece, needed in zip(fragments[1:], needs[1:], strict=True)
    ):
        return tuple(QuestionPart(part) for part in split_question(question))
    return tuple(QuestionPart(piece, needed) for piece, needed in zip(fragments, needs, strict=True))


def _find_dependency(fragments: tuple[str, ...], index: int) -> tuple[int, ...]:
    """Return the number of the nearest earlier part to whose answer a part refers, if any."""
    earlier = (number for number in range(index, 0, -1) if is_follow_up(fragments[index], fragments[number - 1]))
    return tuple(earlier)[:1]
