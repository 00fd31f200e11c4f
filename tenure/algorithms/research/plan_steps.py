"""Propose the steps of a plan by the form of a question, without a model.

A calculation with two figures becomes a search for each and a step that calculates. A comparison becomes a search for
each side and a step that compares. A part of the question that needs the answer of another becomes a step that depends
on it; if it asks for reasons, the document that the search finds is asked as well.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.algorithms.calculator.figures import parse_figure_question
from tenure.algorithms.retrieval.decomposition import QuestionPart, decompose_question
from tenure.algorithms.retrieval.query_type import classify_query
from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.questions import extract_compared_items
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.run.run import PlanStepKind

REASON_TYPES: Final = frozenset(("analytical", "causal"))
"""Types of questions that ask for reasons."""
MIN_ALTERNATIVE_WORDS: Final = 2
"""Minimum content words of an alternative query without a name."""
_QUALIFIER: Final = re.compile(
    r"\s+(?:in|during|since|before|after|according\s+to|for|under|with|within|across|throughout|at|on|by|without|"
    r"regarding)\s+(?=\w)",
    re.IGNORECASE,
)
"""Beginning of a qualifying phrase."""
_ADJECTIVE: Final = re.compile(
    r"\b[^\W\d_]{3,}(?:al|ic|ive|ous|ly|able|ible|ful|less|ary)\b(?=\s+[^\W\d_])", re.IGNORECASE
)
"""Adjective or adverb before another word."""


MAX_QUERY_CHARACTERS: Final = 1_000
"""Maximum characters of a query that is made broader, as of the query of a step."""


class ProposedStep(NamedTuple):
    """Step of a plan."""

    kind: PlanStepKind
    """Type of the step."""
    query: str
    """Its query."""
    needs: tuple[int, ...] = ()
    """Numbers, from 1, of the earlier steps on whose results it depends."""


def propose_steps(question: str) -> tuple[ProposedStep, ...]:
    """Return steps for a question with parts that depend on each other; empty for any other question."""
    if figures := parse_figure_question(question):
        first, second = (ProposedStep("search", subject.question) for subject in figures.subjects)
        return first, second, ProposedStep("calculate", question, (1, 2))
    parts = decompose_question(question)
    return _order_parts(parts) if any(part.needs for part in parts) else ()


def _order_parts(parts: Sequence[QuestionPart]) -> tuple[ProposedStep, ...]:
    """Return a step for each part, and one more for each dependent part that asks for reasons."""
    steps: list[ProposedStep] = []
    numbers: dict[int, int] = {}
    for number, part in enumerate(parts, 1):
        is_comparison = len(part.needs) > 1 and extract_compared_items(part.question) is not None
        needs = tuple(numbers[needed] for needed in part.needs)
        steps.append(ProposedStep("compare" if is_comparison else "search", part.question, needs))
        numbers[number] = len(steps)
        if needs and not is_comparison and classify_query(part.question).primary in REASON_TYPES:
            steps.append(ProposedStep("analyze", part.question, (len(steps),)))
    return tuple(steps)


def is_resolved(query: str, questions: Sequence[str]) -> bool:
    """Return whether one of several questions asks the same with more names, so that no name is missing in it."""
    stems = set(stem_words(query))
    return any(stems < set(stem_words(question)) for question in questions)


def propose_alternative(query: str) -> str:
    """Return a broader query, for a search that finds nothing; empty if nothing can be left out.

    The last qualifying phrase without a name is left out ("in small towns"), else the longest adjective or adverb: rare
    words are long (Zipf's law of abbreviation), and a word that no document contains makes a search find nothing.
    """
    if len(query) > MAX_QUERY_CHARACTERS:
        return ""
    end = len(query.rstrip(" ?.!"))
    phrases = [match.start() for match in _QUALIFIER.finditer(query[:end]) if not has_name(query[match.start() : end])]
    adjectives = sorted((match for match in _ADJECTIVE.finditer(query) if match[0].islower()), key=lambda m: -len(m[0]))
    shorter = [query[: phrases[-1]]] if phrases else []
    shorter += [f"{query[: match.start()]}{query[match.end() :].lstrip()}" for match in adjectives]
    return next((f"{text.rstrip(' ,?')}?" for text in shorter if _is_specific(text)), "")


def _is_specific(query: str) -> bool:
    """Return whether a query names its subject, or has enough content words."""
    return has_name(query) or len(set(stem_words(query))) >= MIN_ALTERNATIVE_WORDS


def has_name(text: str) -> bool:
    """Return whether a text contains a name."""
    return bool(extract_entity_spellings(text))
