"""Whether evidence bears a claim out, without a model: a few measures that a person can follow, weighed once.

The measures ask how much of the claim the evidence answers (words, sentences, the source's subject taken out),
whether numbers, dates and names agree, and whether the two point into the same direction. A logistic function of
them gives the probability that the claim is supported; `python -m benchmarks.claims FILE... --fit` has made its
weights from the first halves of two sets of judged claims. Words are English ones.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tenure.algorithms.text.alignment import Read, likeness, read
from tenure.algorithms.text.details import figures, names, unfound, unnamed
from tenure.algorithms.text.passage import Encoder, TokenEncoder, Vectors
from tenure.algorithms.text.polarity import directed, opposites, turned, turns
from tenure.algorithms.text.sentences import stems, words

Verdict = Literal["supported", "refuted", "neutral"]

POORLY: Final = 0.55
"""Likeness below which a word of a claim counts as unanswered."""
_ALL = frozenset(
    """all every always never none entire entirely complete completely everyone each both any no exclusively only sole
    solely throughout immediately whole unique first last""".split()
)
"""Words that leave no exception."""


@dataclass(frozen=True)
class Evidenced:
    """A claim and what it is held against."""

    claim: str
    """The claim."""
    evidence: tuple[str, ...]
    """Sentences or quotes that it is said to rest on."""
    title: str = ""
    """Title of their source: what pronouns in it stand for."""

    @property
    def text(self) -> str:
        """The evidence as one text."""
        return " ".join(self.evidence)


@dataclass(frozen=True)
class Judgement:
    """What became of a claim."""

    verdict: Verdict
    """Whether the evidence bears it out, says the contrary, or does not settle it."""
    support: float
    """Probability that it is supported."""

    @property
    def confidence(self) -> float:
        """How sure the verdict is."""
        return self.support if self.verdict == "supported" else 1.0 - self.support


WEIGHTS: Final[Mapping[str, float]] = {
    "beyond_subject": 0.171,
    "claim_on_subject": 0.764,
    "text_on_subject": -1.223,
    "answered": 1.848,
    "answered_log": 0.952,
    "least_answered": 0.51,
    "unanswered": -0.117,
    "stems_missing": 0.476,
    "tokens_answered": 1.246,
    "tokens_told": -0.596,
    "direction_agrees": 0.335,
    "direction_conflicts": -1.146,
    "opposites_agree": -0.27,
    "opposites_conflict": -1.111,
    "turned": -0.579,
    "denied_by_claim": -0.187,
    "denied_by_text": -0.401,
    "denied_by_both": 0.912,
    "figures_missing": -0.172,
    "figures_replaced": -0.346,
    "figures_found": 0.495,
    "names_missing": -0.528,
    "names_found": -0.086,
    "exceptionless": -0.128,
}
"""What each measure counts."""
BIAS: Final = -1.281
"""Where the scale begins."""
SUPPORTED: Final = 0.5
"""Probability from which a claim counts as supported."""


def judged(cases: Sequence[Evidenced], encode: Encoder, tokens: TokenEncoder | None = None) -> list[Judgement]:
    """Return a judgement for each case.

    Args:
        cases: claims with their evidence.
        encode: sentence encoder.
        tokens: what reads texts token by token; None to compare single words.
    """
    return [_judgement(case, measured) for case, measured in zip(cases, measures(cases, encode, tokens), strict=True)]


def support(measured: Mapping[str, float]) -> float:
    """Return the probability that a claim with these measures is supported."""
    return 1.0 / (1.0 + math.exp(-BIAS - sum(weight * measured[name] for name, weight in WEIGHTS.items())))


def _judgement(case: Evidenced, measured: Mapping[str, float]) -> Judgement:
    probability = support(measured)
    if probability >= SUPPORTED:
        return Judgement("supported", probability)
    # A contrary direction refutes only where the two plainly speak of the same thing.
    against = measured["direction_conflicts"] or measured["opposites_conflict"] or measured["denied_by_text"]
    same = measured["answered"] >= SAME and not measured["figures_missing"]
    return Judgement("refuted" if against and same else "neutral", probability)


SAME: Final = 0.8
"""Mean likeness from which claim and evidence count as speaking of the same thing."""


def measures(cases: Sequence[Evidenced], encode: Encoder, tokens: TokenEncoder | None = None) -> list[dict[str, float]]:
    """Return the measures of each case, by name."""
    if not cases:
        return []
    whole = list(dict.fromkeys(text for case in cases for text in (case.claim, case.text)))
    seen = list(dict.fromkeys([*whole, *(case.title for case in cases if case.title)]))
    vectors = dict(zip(seen, encode(seen), strict=True))
    readings = dict(zip(whole, read(whole, encode, tokens), strict=True))
    return [
        {
            **_meaning(case, vectors),
            **_words(case, readings[case.claim], readings[case.text]),
            **_direction(case),
            **_particulars(case),
        }
        for case in cases
    ]


def _meaning(case: Evidenced, vectors: Mapping[str, Vectors]) -> dict[str, float]:
    """Compare the vectors of sentences, also with the subject of the source taken out of both."""
    claim, text = vectors[case.claim], vectors[case.text]
    subject = vectors[case.title] if case.title else np.zeros_like(claim)
    return {
        "beyond_subject": float(_without(claim, subject) @ _without(text, subject)),
        "claim_on_subject": float(claim @ subject),
        "text_on_subject": float(text @ subject),
    }


def _without(vector: Vectors, subject: Vectors) -> Vectors:
    left = vector - (vector @ subject) * subject
    apart: Vectors = (left / max(float(np.linalg.norm(left)), 1e-6)).astype(np.float32)
    return apart


def _words(case: Evidenced, claim: Read, text: Read) -> dict[str, float]:
    """Ask how well the words and tokens of the claim are answered."""
    answered = np.asarray(likeness(claim, text, case.title) or [1.0])
    said, there = stems(case.claim), {*stems(case.text), *stems(case.title)}
    near = (
        claim.tokens @ text.tokens.T if len(claim.tokens) and len(text.tokens) else np.zeros((1, 1), dtype=np.float32)
    )
    return {
        "answered": float(answered.mean()),
        "answered_log": float(np.log(answered.clip(0.05, 1.0)).mean()),
        "least_answered": float(answered.min()),
        "unanswered": float((answered < POORLY).mean()),
        "stems_missing": sum(stem not in there for stem in said) / 5,
        "tokens_answered": float(near.max(axis=1).mean()),
        "tokens_told": float(near.max(axis=0).mean()),
    }


def _direction(case: Evidenced) -> dict[str, float]:
    """Ask whether claim and evidence point into the same direction."""
    wanted = set(stems(case.claim))
    nearest = max(case.evidence, key=lambda sentence: len(wanted.intersection(stems(sentence))), default="")
    beside, sides, denial = (
        directed(case.claim, case.evidence),
        opposites(case.claim, case.text),
        turns(case.claim, nearest),
    )
    return {
        "direction_agrees": float(beside == "agrees"),
        "direction_conflicts": float(beside == "conflicts"),
        "opposites_agree": float(sides == "agrees"),
        "opposites_conflict": float(sides == "conflicts"),
        "turned": float(turned(case.claim, case.evidence)),
        "denied_by_claim": float(denial.claim and not denial.text),
        "denied_by_text": float(denial.text and not denial.claim),
        "denied_by_both": float(denial.claim and denial.text),
    }


def _particulars(case: Evidenced) -> dict[str, float]:
    """Ask whether numbers, names and words without exception are borne out."""
    source = f"{case.text} {case.title}"
    own = figures(case.claim)
    lost, nameless = unfound(case.claim, source), unnamed(case.claim, source)
    return {
        "figures_missing": float(bool(lost)),
        "figures_replaced": float(bool(lost) and bool(figures(case.text) - own)),
        "figures_found": float(bool(own) and not lost),
        "names_missing": float(bool(nameless)),
        "names_found": float(bool(names(case.claim)) and not nameless),
        "exceptionless": float(bool(_ALL.intersection(words(case.claim)) - set(words(case.text)))),
    }
