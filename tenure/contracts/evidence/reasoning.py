"""Reasoning: the line of thought that leads from what was found to an answer (document 003, Reasoning Engine)."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.evidence.passages import Claim

ReasoningStrategy = Literal["chain", "tree", "analogical", "causal", "counterfactual", "self_consistency", "multi_hop"]
"""How it is reasoned: step by step; over several lines of thought, of which the better ones are followed; from what two
things share to where they part; from cause to effect; from what would follow if something were otherwise; by the vote
of independent answers; or from one fact to the next that it names."""

ReasoningChoice = Literal[ReasoningStrategy, "none"]
"""What a person may choose."""

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
"""What a step is: something known and what follows from it; a dated event; a cause with its effect; what is the case
now, and what would be if it were not; a pattern of one thing, its counterpart in the other, and where they part; a
thought, or one that speaks for or against; an answer that was voted for; a fact that leads on to the next."""

Leaning = Literal["point", "for", "against"]
"""What a thought does for what a question is about: nothing by itself, speak for it, or speak against it."""

MOST_STEPS = 12
"""Steps of a line of thought at the most."""


class ReasoningStep(Contract):
    """One step of a line of thought."""

    kind: StepKind
    """What it is."""
    claim: Claim
    """What it says, with what that rests on."""
    follows: tuple[int, ...] = ()
    """Numbers, from 1, of the steps before it that it rests on."""
    link: str = ""
    """The name or words by which it is connected to the step before it; empty where nothing has to be said."""


class Considered(Contract):
    """A thought that was weighed and not followed."""

    text: str
    """What it says."""
    score: float = Field(ge=0, le=1)
    """What it was worth: a score, or its share of the votes."""
    why: str
    """Why it was not followed, in words."""


class Reasoning(Contract):
    """A line of thought from evidence to a conclusion."""

    strategy: ReasoningStrategy
    """How it was reasoned."""
    steps: tuple[ReasoningStep, ...] = Field(default=(), max_length=MOST_STEPS)
    """The steps, in order."""
    conclusion: ReasoningStep | None = None
    """What follows from them; None where nothing is concluded."""
    answer: str = ""
    """The conclusion in a few words, by which several lines of thought are compared."""
    confidence: float = Field(default=0.0, ge=0, le=1)
    """How sure the conclusion is, or the whole where there is none."""
    considered: tuple[Considered, ...] = ()
    """What was weighed besides, the best first."""


class Thoughts(Contract):
    """Ways on from a line of thought."""

    thoughts: tuple[ReasoningStep, ...]
    """What could be thought next."""


class Hop(Contract):
    """What the evidence for one question brings, and where it leads."""

    fact: Claim | None = None
    """What it says; None where it says nothing."""
    link: str = ""
    """The name in it that the next question is about; empty where there is none."""
    next_question: str = ""
    """What has to be found out next; empty where nothing has to."""
    complete: bool = False
    """Whether the facts so far answer the whole question."""
