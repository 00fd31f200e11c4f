"""Verify claims against evidence without a model: a logistic regression over interpretable features.

The features measure how well the evidence covers the claim (words, sentences, the subject of the source removed),
whether numbers, dates and names agree, and whether both have the same polarity. The result is the probability that the
claim is supported (textual entailment). The weights were fitted by `python -m benchmarks.claims FILE... --fit` on the
first halves of two sets of judged claims. Word lists are English.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tenure.algorithms.text.alignment import EncodedText, encode_texts, score_word_alignment
from tenure.algorithms.text.details import (
    extract_numbers,
    extract_proper_nouns,
    find_missing_names,
    find_missing_numbers,
)
from tenure.algorithms.text.passage import Encoder, TokenEncoder, Vectors
from tenure.algorithms.text.polarity import compare_antonyms, compare_directions, detect_negations, is_polarity_reversed
from tenure.algorithms.text.sentences import split_words, stem_words

SupportVerdict = Literal["supported", "refuted", "neutral"]

MIN_ANSWERED_SIMILARITY: Final = 0.55
"""Similarity below which a word of a claim counts as not covered."""
_UNIVERSAL_WORDS = frozenset(
    """all every always never none entire entirely complete completely everyone each both any no exclusively only sole
    solely throughout immediately whole unique first last""".split()
)
"""Words of universal statements."""


@dataclass(frozen=True)
class ClaimWithEvidence:
    """Claim with its evidence."""

    claim: str
    """The claim."""
    evidence: tuple[str, ...]
    """Sentences or quotes that the claim cites."""
    title: str = ""
    """Title of the source, to which pronouns in the evidence may refer."""

    @property
    def text(self) -> str:
        """The evidence as one text."""
        return " ".join(self.evidence)


@dataclass(frozen=True)
class ClaimJudgement:
    """Verdict on a claim."""

    verdict: SupportVerdict
    """Whether the evidence supports, refutes or does not decide the claim."""
    support: float
    """Probability that the claim is supported."""

    @property
    def confidence(self) -> float:
        """Confidence of the verdict."""
        return self.support if self.verdict == "supported" else 1.0 - self.support


FEATURE_WEIGHTS: Final[Mapping[str, float]] = {
    "similarity_without_subject": 0.171,
    "claim_subject_similarity": 0.764,
    "evidence_subject_similarity": -1.223,
    "mean_word_similarity": 1.848,
    "mean_log_word_similarity": 0.952,
    "min_word_similarity": 0.51,
    "uncovered_words": -0.117,
    "missing_stems": 0.476,
    "claim_token_similarity": 1.246,
    "evidence_token_similarity": -0.596,
    "direction_agrees": 0.335,
    "direction_conflicts": -1.146,
    "antonyms_agree": -0.27,
    "antonyms_conflict": -1.111,
    "polarity_reversed": -0.579,
    "claim_negated": -0.187,
    "evidence_negated": -0.401,
    "both_negated": 0.912,
    "numbers_missing": -0.172,
    "numbers_replaced": -0.346,
    "numbers_found": 0.495,
    "names_missing": -0.528,
    "names_found": -0.086,
    "universal_words_added": -0.128,
}
"""Weight of each feature."""
INTERCEPT: Final = -1.281
"""Intercept of the logistic regression."""
MIN_SUPPORT: Final = 0.5
"""Minimum probability of a supported claim."""


def judge_claims(
    cases: Sequence[ClaimWithEvidence], encode: Encoder, tokens: TokenEncoder | None = None
) -> list[ClaimJudgement]:
    """Judge each claim by its evidence.

    Args:
        cases: claims with their evidence.
        encode: sentence encoder.
        tokens: token encoder; None to compare single words.
    """
    return [
        _judge_claim(case, features)
        for case, features in zip(cases, compute_features(cases, encode, tokens), strict=True)
    ]


def estimate_support(features: Mapping[str, float]) -> float:
    """Return the probability that a claim with these features is supported."""
    return 1.0 / (1.0 + math.exp(-INTERCEPT - sum(weight * features[name] for name, weight in FEATURE_WEIGHTS.items())))


def _judge_claim(case: ClaimWithEvidence, features: Mapping[str, float]) -> ClaimJudgement:
    probability = estimate_support(features)
    if probability >= MIN_SUPPORT:
        return ClaimJudgement("supported", probability)
    # Opposite polarity refutes a claim only if the evidence is on the same subject.
    has_opposite_polarity = (
        features["direction_conflicts"] or features["antonyms_conflict"] or features["evidence_negated"]
    )
    is_same_subject = features["mean_word_similarity"] >= MIN_SAME_SUBJECT and not features["numbers_missing"]
    return ClaimJudgement("refuted" if has_opposite_polarity and is_same_subject else "neutral", probability)


MIN_SAME_SUBJECT: Final = 0.8
"""Minimum mean similarity of the words of a claim and evidence on the same subject."""


def compute_features(
    cases: Sequence[ClaimWithEvidence], encode: Encoder, tokens: TokenEncoder | None = None
) -> list[dict[str, float]]:
    """Compute the features of each case, by name."""
    if not cases:
        return []
    distinct_texts = list(dict.fromkeys(text for case in cases for text in (case.claim, case.text)))
    distinct = list(dict.fromkeys([*distinct_texts, *(case.title for case in cases if case.title)]))
    # The tokens first: an encoder that caches computes the vectors of the texts with them.
    readings = dict(zip(distinct_texts, encode_texts(distinct_texts, encode, tokens), strict=True))
    vectors = dict(zip(distinct, encode(distinct), strict=True))
    return [
        {
            **_compute_vector_features(case, vectors),
            **_compute_word_features(case, readings[case.claim], readings[case.text]),
            **_compute_polarity_features(case),
            **_compute_detail_features(case),
        }
        for case in cases
    ]


def _compute_vector_features(case: ClaimWithEvidence, vectors: Mapping[str, Vectors]) -> dict[str, float]:
    """Compare sentence vectors, also with the subject of the source removed from both."""
    claim, text = vectors[case.claim], vectors[case.text]
    subject = vectors[case.title] if case.title else np.zeros_like(claim)
    return {
        "similarity_without_subject": float(_remove_subject(claim, subject) @ _remove_subject(text, subject)),
        "claim_subject_similarity": float(claim @ subject),
        "evidence_subject_similarity": float(text @ subject),
    }


def _remove_subject(vector: Vectors, subject: Vectors) -> Vectors:
    remainder = vector - (vector @ subject) * subject
    unit: Vectors = (remainder / max(float(np.linalg.norm(remainder)), 1e-6)).astype(np.float32)
    return unit


def _compute_word_features(case: ClaimWithEvidence, claim: EncodedText, text: EncodedText) -> dict[str, float]:
    """Measure how well the evidence covers the words and tokens of the claim."""
    answered = np.asarray(score_word_alignment(claim, text, case.title) or [1.0])
    claim_stems, source_stems = stem_words(case.claim), {*stem_words(case.text), *stem_words(case.title)}
    similarities = (
        claim.token_vectors @ text.token_vectors.T
        if len(claim.token_vectors) and len(text.token_vectors)
        else np.zeros((1, 1), dtype=np.float32)
    )
    return {
        "mean_word_similarity": float(answered.mean()),
        "mean_log_word_similarity": float(np.log(answered.clip(0.05, 1.0)).mean()),
        "min_word_similarity": float(answered.min()),
        "uncovered_words": float((answered < MIN_ANSWERED_SIMILARITY).mean()),
        "missing_stems": sum(stem not in source_stems for stem in claim_stems) / 5,
        "claim_token_similarity": float(similarities.max(axis=1).mean()),
        "evidence_token_similarity": float(similarities.max(axis=0).mean()),
    }


def _compute_polarity_features(case: ClaimWithEvidence) -> dict[str, float]:
    """Compare the polarity of claim and evidence."""
    claim_stems = set(stem_words(case.claim))
    nearest = max(case.evidence, key=lambda sentence: len(claim_stems.intersection(stem_words(sentence))), default="")
    direction, antonyms, negations = (
        compare_directions(case.claim, case.evidence),
        compare_antonyms(case.claim, case.text),
        detect_negations(case.claim, nearest),
    )
    return {
        "direction_agrees": float(direction == "agrees"),
        "direction_conflicts": float(direction == "conflicts"),
        "antonyms_agree": float(antonyms == "agrees"),
        "antonyms_conflict": float(antonyms == "conflicts"),
        "polarity_reversed": float(is_polarity_reversed(case.claim, case.evidence)),
        "claim_negated": float(negations.claim and not negations.text),
        "evidence_negated": float(negations.text and not negations.claim),
        "both_negated": float(negations.claim and negations.text),
    }


def _compute_detail_features(case: ClaimWithEvidence) -> dict[str, float]:
    """Check whether the evidence contains the numbers, names and universal words of the claim."""
    source = f"{case.text} {case.title}"
    claim_numbers = extract_numbers(case.claim)
    missing_numbers, missing_names = find_missing_numbers(case.claim, source), find_missing_names(case.claim, source)
    return {
        "numbers_missing": float(bool(missing_numbers)),
        "numbers_replaced": float(bool(missing_numbers) and bool(extract_numbers(case.text) - claim_numbers)),
        "numbers_found": float(bool(claim_numbers) and not missing_numbers),
        "names_missing": float(bool(missing_names)),
        "names_found": float(bool(extract_proper_nouns(case.claim)) and not missing_names),
        "universal_words_added": float(
            bool(_UNIVERSAL_WORDS.intersection(split_words(case.claim)) - set(split_words(case.text)))
        ),
    }
