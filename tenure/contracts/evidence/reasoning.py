"""Lines of reasoning from the evidence to an answer."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.choices import ReasoningStrategy
from tenure.contracts.evidence.passages import Claim

StepKind = Literal[
    "premise",
    "inference",
    "event",
    "cause",
    "supposition",
    "consequence",
    "pattern",
    "mapping",
    "limit",
    "point",
    "for",
    "against",
    "answer",
    "hop",
]
"""Type of a reasoning step: a premise or an inference; a dated event; a cause with its effect; a supposition and its
consequence; a pattern, its mapping to the other domain, and the limit of the analogy; a neutral point, or an argument
for or against; an answer that was voted for; a hop from one fact to the next."""

MAX_REASONING_STEPS = 12
"""Maximum number of steps in a line of reasoning."""

MAX_REASONING_QUERIES = 3
"""Maximum number of searches for facts that a line lacks."""


class ReasoningStep(Contract):
    """One step of a line of reasoning."""

    kind: StepKind
    claim: Claim
    follows: tuple[int, ...] = ()
    """Numbers, from 1, of the earlier steps that it is based on."""
    link: str = ""
    """Name or words that connect it to the previous step; empty if none are needed."""


class RejectedThought(Contract):
    """A thought that was evaluated and not followed."""

    text: str
    """Statement of the thought."""
    score: float = Field(ge=0, le=1)
    """Its score, or its share of the votes."""
    reason: str
    """Reason for its rejection."""


class Reasoning(Contract):
    """A line of reasoning from the evidence to a conclusion."""

    strategy: ReasoningStrategy
    steps: tuple[ReasoningStep, ...] = Field(default=(), max_length=MAX_REASONING_STEPS)
    conclusion: ReasoningStep | None = None
    """Conclusion from the steps; None if nothing is concluded."""
    answer: str = ""
    """Conclusion in a few words, by which several lines of reasoning are compared."""
    confidence: float = Field(default=0.0, ge=0, le=1)
    """Confidence in the conclusion, or in the whole if there is none."""
    rejected: tuple[RejectedThought, ...] = ()
    """Thoughts that were not followed, best first."""
    queries: tuple[str, ...] = ()
    """Searches for facts that it lacks."""
