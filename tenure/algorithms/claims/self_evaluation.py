"""Evaluate a report: self-consistency, completeness of the answer and factuality.

consistency  = mean cosine similarity of versions of the answer, halved if the report contradicts itself
completeness = mean over the components of the question: 1 or 0 as a model judges, or the estimated probability
factuality   = supported claims / claims
overall      = mean of those that can be given
"""

import math
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
MIN_ANSWER_SCORE, NAME_WEIGHT = 2.2, 0.5
"""Minimum score of sentences that answer a component, and weight of its names in the score."""
ANSWERED_MIDPOINT, ANSWERED_SCALE = 2.3, 0.75
"""Score at which a component is as likely answered as not, and width of the curve around it; fitted to the answers of
multi-hop questions with known answers, with and without the passages that answer them."""
COMPLETENESS_ERROR = 0.1
"""Mean difference between such estimates and the share of known answers in reports, over groups of reports with similar
estimates to other questions."""
CONTRADICTION_FACTOR: Final = 0.5
"""Factor of the consistency of a report that contradicts itself."""
MAX_ANSWER_SENTENCES: Final = 4
"""Maximum sentences of a version of the answer without a model."""


def list_components(question: str) -> tuple[str, ...]:
    """List the parts of a question."""
    return tuple(part.question for part in decompose_question(question))


def score_component(component: str, sections: Sequence[SectionDraft], encode: Encoder) -> float:
    """Score how well the sentences of a report answer a component; 0 for one without content words.

    The score is that of the best sentence, plus the share of the component's words and half the share of its names
    that the sentences contain. Headings do not count: they repeat the question.
    """
    sentences = [claim.statement for section in sections for claim in section.draft.claims]
    component_stems = set(stem_words(component))
    if not component_stems or not sentences:
        return 0.0
    best = score_answers((component,), [("", [text]) for text in sentences], component_stems, encode).max()
    text = " ".join(sentences)
    words = len(component_stems & set(stem_words(text))) / len(component_stems)
    names = extract_entity_spellings(component).keys()
    named = len(names & extract_entity_spellings(text).keys()) / len(names) if names else 1.0
    return float(best) + words + NAME_WEIGHT * named


def estimate_answered(score: float) -> float:
    """Return the probability that a component with a score is answered, by a logistic curve."""
    return 1 / (1 + math.exp((ANSWERED_MIDPOINT - score) / ANSWERED_SCALE))


def build_rephrasings(sections: Sequence[SectionDraft], vectors: Vectors, question: Vectors) -> tuple[str, ...]:
    """Return three extractive versions of the answer.

    They consist of the first sentences of the sections, central sentences, and sentences similar to the question.

    Args:
        sections: sections of the report, each with text.
        vectors: vectors of all claims in reading order.
        question: vector of the question.
    """
    claims = [claim.statement for section in sections for claim in section.draft.claims]
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


def compute_consistency(versions: Vectors, *, contradicted: bool) -> float | None:
    """Return the mean similarity of versions of an answer, reduced if the report contradicts itself.

    Returns:
        None for fewer than two versions.
    """
    similarities = [float(versions[i] @ versions[j]) for i, j in combinations(range(len(versions)), 2)]
    if not similarities:
        return None
    mean = min(1.0, max(0.0, sum(similarities) / len(similarities)))
    return mean * CONTRADICTION_FACTOR if contradicted else mean


def compute_completeness(answered: Sequence[float]) -> float | None:
    """Return the mean probability that the components of a question are answered; None without components."""
    return sum(answered) / len(answered) if answered else None


def build_evaluation(
    consistency: float | None, completeness: float | None, factuality: float | None, missing: Sequence[str]
) -> Evaluation:
    """Build the evaluation from its scores; the overall score is the mean of those that are given, 0 without any.

    Args:
        consistency: self-consistency of the report.
        completeness: share of the question that is answered.
        factuality: share of supported claims.
        missing: components of the question that no section addresses.
    """
    scores = [None if score is None else round(score, 3) for score in (consistency, completeness, factuality)]
    given = [score for score in scores if score is not None]
    return Evaluation(
        consistency=scores[0],
        completeness=scores[1],
        factuality=scores[2],
        overall=round(sum(given) / len(given), 3) if given else 0.0,
        missing=tuple(missing),
    )
