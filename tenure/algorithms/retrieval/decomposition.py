"""Decompose questions into sub-questions and find their dependencies, by patterns without a model.

A comparison has two items and a difference. Joined questions are split at their conjunctions, and a part that refers to
the answer of an earlier part depends on it.
"""

import re
from collections.abc import Collection, Sequence
from itertools import product
from typing import Final, NamedTuple

from tenure.algorithms.text.grammar.clauses import has_several_clauses, split_clauses
from tenure.algorithms.text.grammar.coreference import find_reference, is_follow_up
from tenure.algorithms.text.grammar.masking import mask_text
from tenure.algorithms.text.grammar.subjects import add_subject, find_subject
from tenure.algorithms.text.grammar.vocabulary import PREPOSITIONS
from tenure.algorithms.text.questions import extract_compared_items, extract_criteria, shorten
from tenure.algorithms.text.sentences import stem_words

MAX_SUB_QUESTIONS: Final = 6
MAX_SUB_QUESTION_CHARACTERS: Final = 1000


class QuestionPart(NamedTuple):
    """Sub-question with its dependencies."""

    question: str
    needs: tuple[int, ...] = ()
    """Numbers, from 1, of the parts on whose answers it depends."""


def decompose_question(question: str) -> tuple[QuestionPart, ...]:
    """Decompose a question into parts, in the order in which they should be answered.

    Every part has a content word, and all content words of the question occur in the parts. If that is not certain, the
    question is the only part.
    """
    undivided = (QuestionPart(shorten(" ".join(question.split()), MAX_SUB_QUESTION_CHARACTERS)),)
    linked = _link_clauses(question)
    if len(linked) == 1:
        parts = _decompose_comparison(linked[0].question)
    else:
        parts = _flatten([(_decompose_comparison(part.question), part.needs) for part in linked])
        if len(parts) > MAX_SUB_QUESTIONS:
            parts = tuple(linked) if len(linked) < MAX_SUB_QUESTIONS else _join_tail(linked)
    if any(len(part.question) > MAX_SUB_QUESTION_CHARACTERS for part in parts):
        return undivided
    return parts


def _link_clauses(question: str) -> list[QuestionPart]:
    """Return the clauses of a question, each once.

    One that refers to an earlier answer ("who … he") needs it. One that refers to something else stays with the clause
    before it, unless the question names its subject. With a clause without a content word the question stays whole.
    """
    has_subject = bool(find_subject(question))
    parts: list[QuestionPart] = []
    texts: list[str] = []
    for clause in split_clauses(question):
        refers = bool(parts) and not clause.context and find_reference(clause.text)
        needed = next((n for n in range(len(texts), 0, -1) if refers and is_follow_up(clause.text, texts[n - 1])), 0)
        if refers and not needed and not has_subject:
            parts[-1] = parts[-1]._replace(question=f"{parts[-1].question} {clause.question}")
        elif clause.question.casefold() not in (part.question.casefold() for part in parts):
            parts.append(QuestionPart(clause.question, (needed,) if needed else ()))
            texts.append(clause.text)
    is_certain = all(stem_words(part.question) for part in parts)
    return parts if is_certain else [QuestionPart(" ".join(question.split()))]


def decompose_into_standalone_parts(question: str) -> tuple[QuestionPart, ...]:
    """Decompose a question into parts that name its subject, so that each can be searched alone.

    A part that needs the answer of another one is completed with that answer.
    """
    parts = decompose_question(question)
    if len(parts) == 1:
        return parts
    return tuple(part if part.needs else part._replace(question=add_subject(part.question, question)) for part in parts)


def _join_tail(parts: Sequence[QuestionPart]) -> tuple[QuestionPart, ...]:
    """Join the parts beyond the maximum number into the last one."""
    head, tail = parts[: MAX_SUB_QUESTIONS - 1], parts[MAX_SUB_QUESTIONS - 1 :]
    needs = {number for part in tail for number in part.needs if number <= len(head)}
    return (*head, QuestionPart(" ".join(part.question for part in tail), tuple(sorted(needs))))


def _flatten(groups: list[tuple[tuple[QuestionPart, ...], tuple[int, ...]]]) -> tuple[QuestionPart, ...]:
    """Join the parts of several questions, each part once; a question needs others by their numbers."""
    parts: list[QuestionPart] = []
    last: list[int] = []
    for group, needed in groups:
        numbers: list[int] = []
        for part in group:
            existing = next((n for n, other in enumerate(parts, 1) if other.question == part.question), 0)
            if not existing:
                needs = tuple(numbers[n - 1] for n in part.needs) or tuple(last[n - 1] for n in needed)
                parts.append(QuestionPart(part.question, needs))
            numbers.append(existing or len(parts))
        last.append(numbers[-1])
    return tuple(parts)


def _decompose_comparison(question: str) -> tuple[QuestionPart, ...]:
    """Decompose a comparison into questions on both sides and on the difference; any other question is returned."""
    undivided = (QuestionPart(question),)
    has_rest = has_several_clauses(question) or _CONTINUED.search(mask_text(question))
    pair = None if has_rest else extract_compared_items(question)
    if not pair or not _are_comparable(*pair):
        return undivided
    a, b = pair
    criteria = extract_criteria(question)[:2]
    if criteria:
        sides = [f"What {_conjugate(name)} the {name} of {side}?" for side, name in product(pair, criteria)]
        differences = [f"How do {a} and {b} compare in {criterion}?" for criterion in criteria]
    else:
        sides = [f"What {_conjugate(side)} {side}?" for side in pair]
        difference = f"How do {a} and {b} differ?"
        differences = [difference if _covers((difference,), question) else question]
    compared = len(differences)
    parts = (
        *map(QuestionPart, sides),
        *(QuestionPart(text, (n, n + compared)) for n, text in enumerate(differences, 1)),
    )
    return parts if _covers([*sides, *differences], question) else undivided


def _are_comparable(a: str, b: str) -> bool:
    """Return whether both sides are complete: neither a list nor a reference, and with the same kind of complement."""
    if any(re.search(r"\s(?:and|or|vs|versus)\s|,", mask_text(side)) or find_reference(side) for side in (a, b)):
        return False
    first, second = (next((word for word in side.lower().split() if word in PREPOSITIONS), "") for side in (a, b))
    return first == second and bool(stem_words(a)) and bool(stem_words(b))


def _conjugate(noun: str) -> str:
    return "are" if re.search(r"(?<![ius])s$", noun) and noun.islower() else "is"


def _covers(parts: Collection[str], question: str) -> bool:
    """Return whether the parts contain all content words of a question, apart from those of the comparison itself."""
    rest = set(stem_words(question)) - set(stem_words(" ".join(parts)))
    return not rest - _COMPARISON_STEMS


_CONTINUED: Final = re.compile(r"[:;?.!]\s+\w")
"""Pattern of a question with text after a colon or a sentence end."""
_COMPARISON_STEMS: Final = frozenset(
    stem_words("difference differences differ contrast versus vs terms respect regard regarding overview list report")
)
