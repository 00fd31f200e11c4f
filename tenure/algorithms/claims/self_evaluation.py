"""Self-evaluation: how far a report agrees with itself, answers its question and is borne out (003 §2.3.4)."""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from tenure.algorithms.claims.claim_pairs import PLAIN, disagreeing
from tenure.algorithms.retrieval.decomposition import decompose
from tenure.algorithms.text.passage import Vectors
from tenure.algorithms.text.sentences import stems
from tenure.contracts.research.report import SectionDraft
from tenure.contracts.result.result import Evaluation

REPHRASINGS: Final = 3
"""Versions of the report's answer that are compared with each other."""
SAID: Final = 0.6
"""Share of a component's words that a section needs to address it."""
CONTRADICTED: Final = 0.5
"""What is left of the consistency of a report that contradicts itself."""
ANSWER: Final = 4
"""Sentences of one version of the answer, at the most, where no model writes it."""


def components(question: str) -> tuple[str, ...]:
    """Return what a question asks for, part by part."""
    return tuple(part.question for part in decompose(question))


def addressed(component: str, sections: Sequence[SectionDraft]) -> bool:
    """Tell whether a section speaks of a component; one without a content word asks for nothing."""
    wanted = set(stems(component))
    said = (wanted & {*stems(section.topic), *stems(section.draft.text)} for section in sections)
    return not wanted or any(len(found) >= SAID * len(wanted) for found in said)


def nearest(component: str, sections: Sequence[SectionDraft]) -> str:
    """Return the heading of the section that is closest to a component by its words."""
    wanted = set(stems(component))
    shared = [len(wanted & {*stems(section.topic), *stems(section.draft.text)}) for section in sections]
    return sections[int(np.argmax(shared))].topic


def rephrasings(sections: Sequence[SectionDraft], vectors: Vectors, question: Vectors) -> tuple[str, ...]:
    """Return the report's answer in three ways: what opens its sections, what is central, what is near the question.

    Args:
        sections: of the report, each with text.
        vectors: of all claims in reading order.
        question: vector of the question.
    """
    claims = [claim.text for section in sections for claim in section.draft.claims]
    lengths = [len(section.draft.claims) for section in sections]
    opening = [sum(lengths[:n]) for n in range(len(lengths))][:ANSWER]
    central, near = (np.argsort(-(vectors @ anchor), kind="stable") for anchor in (vectors.mean(axis=0), question))
    chosen = (opening, sorted(central[:ANSWER].tolist()), sorted(near[:ANSWER].tolist()))
    return tuple(" ".join(claims[n] for n in numbers) for numbers in chosen)


def self_contradictions(claims: Sequence[str], vectors: Vectors) -> tuple[str, ...]:
    """Return pairs of sentences of one report that plainly disagree, each with the point in words."""
    near = vectors @ vectors.T
    return tuple(
        f"“{claims[i]}” and “{claims[j]}”: {found.about}"
        for i, j in combinations(range(len(claims)), 2)
        if near[i, j] >= PLAIN and (found := disagreeing(claims[i], claims[j], float(near[i, j])))
    )


def consistency(versions: Vectors, *, contradicted: bool) -> float:
    """Return the mean likeness of versions of an answer, less where it contradicts itself."""
    likeness = [float(versions[i] @ versions[j]) for i, j in combinations(range(len(versions)), 2)]
    mean = min(1.0, max(0.0, sum(likeness) / len(likeness))) if likeness else 1.0
    return mean * CONTRADICTED if contradicted else mean


def evaluation(consistency: float, missing: Sequence[str], asked: int, factuality: float) -> Evaluation:
    """Return the scores; overall is their mean.

    Args:
        consistency: of the report with itself.
        missing: components of the question that nothing addresses.
        asked: components there are.
        factuality: share of claims that are supported.
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
