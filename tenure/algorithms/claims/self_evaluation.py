"""Evaluate a report: self-consistency, completeness of the answer and factuality.

consistency  = mean cosine similarity of versions of the answer, halved if the report contradicts itself
completeness = 1 - missing components / components of the question
factuality   = supported claims / claims
overall      = mean of the three
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from tenure.algorithms.claims.claim_pairs import MIN_CONTRADICTION_SIMILARITY, detect_contradiction
from tenure.algorithms.retrieval.decomposition import decompose_question
from tenure.algorithms.text.passage import Vectors
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.research.report import SectionDraft
from tenure.contracts.result.result import Evaluation

REPHRASING_COUNT: Final = 3
"""Number of versions of the answer that are compared."""
MIN_SHARED_TERMS: Final = 0.6
"""Minimum share of a component's words in a section that addresses it."""
CONTRADICTION_FACTOR: Final = 0.5
"""Factor of the consistency of a report that contradicts itself."""
MAX_ANSWER_SENTENCES: Final = 4
"""Maximum sentences of a version of the answer without a model."""


def list_components(question: str) -> tuple[str, ...]:
    """List the parts of a question."""
    return tuple(part.question for part in decompose_question(question))


def is_addressed(component: str, sections: Sequence[SectionDraft]) -> bool:
    """Return whether a section addresses a component; a component without content words is always addressed."""
    component_stems = set(stem_words(component))
    shared = (component_stems & {*stem_words(section.topic), *stem_words(section.draft.text)} for section in sections)
    return not component_stems or any(len(stems) >= MIN_SHARED_TERMS * len(component_stems) for stems in shared)


def find_nearest_section(component: str, sections: Sequence[SectionDraft]) -> str:
    """Return the heading of the section that shares most words with a component."""
    component_stems = set(stem_words(component))
    shared = [
        len(component_stems & {*stem_words(section.topic), *stem_words(section.draft.text)}) for section in sections
    ]
    return sections[int(np.argmax(shared))].topic


def build_rephrasings(sections: Sequence[SectionDraft], vectors: Vectors, question: Vectors) -> tuple[str, ...]:
    """Return three extractive versions of the answer.

    They consist of the first sentences of the sections, central sentences, and sentences similar to the question.

    Args:
        sections: sections of the report, each with text.
        vectors: vectors of all claims in reading order.
        question: vector of the question.
    """
    claims = [claim.text for section in sections for claim in section.draft.claims]
    lengths = [len(section.draft.claims) for section in sections]
    opening = [sum(lengths[:n]) for n in range(len(lengths))][:MAX_ANSWER_SENTENCES]
    central, near = (np.argsort(-(vectors @ anchor), kind="stable") for anchor in (vectors.mean(axis=0), question))
    chosen = (opening, sorted(central[:MAX_ANSWER_SENTENCES].tolist()), sorted(near[:MAX_ANSWER_SENTENCES].tolist()))
    return tuple(" ".join(claims[n] for n in numbers) for numbers in chosen)


def find_self_contradictions(claims: Sequence[str], vectors: Vectors) -> tuple[str, ...]:
    """Return descriptions of the pairs of sentences in one report that contradict each other."""
    similarities = vectors @ vectors.T
    return tuple(
        f"“{claims[i]}” and “{claims[j]}”: {contradiction.about}"
        for i, j in combinations(range(len(claims)), 2)
        if similarities[i, j] >= MIN_CONTRADICTION_SIMILARITY
        and (contradiction := detect_contradiction(claims[i], claims[j], float(similarities[i, j])))
    )


def compute_consistency(versions: Vectors, *, contradicted: bool) -> float:
    """Return the mean similarity of versions of an answer, reduced if the report contradicts itself."""
    similarities = [float(versions[i] @ versions[j]) for i, j in combinations(range(len(versions)), 2)]
    mean = min(1.0, max(0.0, sum(similarities) / len(similarities))) if similarities else 1.0
    return mean * CONTRADICTION_FACTOR if contradicted else mean


def build_evaluation(consistency: float, missing: Sequence[str], asked: int, factuality: float) -> Evaluation:
    """Build the evaluation from its scores; the overall score is their mean.

    Args:
        consistency: self-consistency of the report.
        missing: components of the question that no section addresses.
        asked: number of components.
        factuality: share of supported claims.
    """
    completeness = 1.0 - len(missing) / asked if asked else 1.0
    scores = [round(score, 3) for score in (consistency, completeness, factuality)]
    return Evaluation(
        consistency=scores[0],
        completeness=scores[1],
        factuality=scores[2],
        overall=round(sum(scores) / len(scores), 3),
        missing=tuple(missing),
    )
