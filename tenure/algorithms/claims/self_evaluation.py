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
from tenure.algorithms.reasoning.answer_scoring import score_answers
from tenure.algorithms.retrieval.decomposition import decompose_question
from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.research.report import SectionDraft
from tenure.contracts.result.result import Evaluation

REPHRASING_COUNT: Final = 3
"""Number of versions of the answer that are compared."""
MIN_ANSWER_SCORE, NAME_WEIGHT = 2.1, 0.5
"""Minimum score of sentences that answer a component, and weight of its names in the score."""
CONTRADICTION_FACTOR: Final = 0.5
"""Factor of the consistency of a report that contradicts itself."""
MAX_ANSWER_SENTENCES: Final = 4
"""Maximum sentences of a version of the answer without a model."""


def list_components(question: str) -> tuple[str, ...]:
    """List the parts of a question."""
    return tuple(part.question for part in decompose_question(question))


def is_addressed(component: str, sections: Sequence[SectionDraft], encode: Encoder) -> bool:
    """Return whether the sentences of a report answer a component; one without content words is never answered.

    The score is that of the best sentence, plus the share of the component's words and half the share of its names
    that the sentences contain. Headings do not count: they repeat the question.
    """
    sentences = [claim.text for section in sections for claim in section.draft.claims]
    component_stems = set(stem_words(component))
    if not component_stems or not sentences:
        return False
    best = score_answers((component,), [("", [text]) for text in sentences], component_stems, encode).max()
    text = " ".join(sentences)
    words = len(component_stems & set(stem_words(text))) / len(component_stems)
    names = extract_entity_spellings(component).keys()
    named = len(names & extract_entity_spellings(text).keys()) / len(names) if names else 1.0
    return bool(float(best) + words + NAME_WEIGHT * named >= MIN_ANSWER_SCORE)


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
