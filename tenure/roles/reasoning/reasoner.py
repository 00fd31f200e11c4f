"""Reason from evidence to the answer of a question, in steps of one sentence each.

All strategies share this role, since they differ in the kinds of steps and not in the form of a step: a sentence, its
passages, and the earlier steps it follows from.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.citations import MAX_CITATIONS, cite_claim
from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.reasoning import (
    MAX_REASONING_STEPS,
    Reasoning,
    ReasoningStep,
    ReasoningStrategy,
    StepKind,
)
from tenure.contracts.messages import Message
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    skip,
    wrap_in_tag,
)
from tenure.roles.prompting import find_passage_numbers, join_parts

SYSTEM = f"""You reason from evidence to the answer of a question, in steps that a reader can follow and check one by
one. You are given numbered passages, the question and the way to reason.

Write two to {MAX_REASONING_STEPS} steps. For each step give:
- kind: what it is, as the way to reason says.
- text: one full sentence with its subject named, without citation marks.
- passages: numbers of the passages it rests on. A step that states a fact names at least one. A step that only follows
  from earlier steps names none.
- follows: numbers of earlier steps it follows from; empty for a fact.
- link: the name or the few words that connect it to the step before it; empty if nothing connects them.

The last step draws the conclusion. Then give:
- conclusion: the number of the step that answers the question; 0 if the evidence allows no conclusion.
- answer: the answer in at most ten words; empty if there is none, or if the question has several parts or asks for an
  explanation.
- confidence: how likely the conclusion is right, from 0 to 1, given how well the passages support every step.

Take no step that the passages and earlier steps do not allow, and fill no gap with what you know. If the evidence does
not allow any reasoning, return no steps. Say nothing twice, and do not retell the passages: a step that leads nowhere
is left out. Use only the kinds of steps that the way to reason names. {EVIDENCE_RULE}"""

STRATEGY_PROMPTS: Final[Mapping[ReasoningStrategy, str]] = {
    "chain": "Think step by step. Steps are `premise` (a fact from the passages) and `inference` (what follows). For a "
    "question about a course of time they are `event`, in the order of time, with the date as link.",
    "tree": "Several lines of thought were explored and judged, and those that were kept are given as steps so far. "
    "Build the argument from them. Steps are `for`, `against` and `point`, and the last one, an `inference`, weighs "
    "them up.",
    "analogical": "Reason by analogy between the things that the question compares. First `pattern`: a principle or "
    "mechanism of the one. Then `mapping`: what corresponds to it in the other, following from the pattern. Then "
    "`limit`: where the likeness ends. Of more than two things, the `pattern` is common to all, and each `mapping` is "
    "one true difference. The conclusion is an `inference`: what carries over and what does not.",
    "causal": "Reason from causes to effects. Every step is a `cause` that names what brings what about, and the "
    "effect of one is the cause of the next where that is so. Keep apart what sources call a cause and what merely "
    "goes along with it.",
    "counterfactual": "Suppose that it were as the question says. First `supposition`: what is the case now and "
    "rests on what would change. Then `consequence`: what would follow, following from the suppositions. Say only "
    "what the passages allow, and how far it reaches.",
    "self_consistency": "Answer the question by yourself, step by step, from these passages alone. Steps are "
    "`premise` and `inference`. Other lines of thought are compared with yours by its answer, so give that exactly.",
    "multi_hop": "The facts that were found hop by hop are given as steps so far. Each is a `hop` that leads to the "
    "next by the name in its link. Put them in order, leave out what does not lead to the answer, and conclude with "
    "an `inference`.",
}
"""Instructions of each strategy."""


class ReasonerInput(RoleInput):
    """Question and strategy."""

    question: str
    """The question."""
    strategy: ReasoningStrategy
    """The strategy."""
    earlier_steps: tuple[ReasoningStep, ...] = ()
    """Steps of an earlier search (thoughts or hops), to be combined here."""


class ReasonerStep(BaseModel):
    """One step."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: StepKind
    """Kind of the step."""
    text: str = Field(min_length=1, max_length=1200)
    """The step as one sentence, without citation marks and without Markdown."""
    passages: Annotated[tuple[int, ...], SchemaLimit(MAX_CITATIONS)]
    """Numbers of the passages it rests on; empty for a step that only follows from others."""
    follows: Annotated[tuple[int, ...], SchemaLimit(MAX_REASONING_STEPS)]
    """Numbers, from 1, of the earlier steps it follows from."""
    link: str = Field(max_length=200)
    """Connection to the step before it, in a few words; may be empty."""


class ReasonerOutput(RoleOutput):
    """A line of thought."""

    steps: tuple[ReasonerStep, ...] = Field(max_length=MAX_REASONING_STEPS)
    """The steps in order, the conclusion last; none if nothing sound can be said."""
    conclusion: int
    """Number of the step that answers the question; 0 for none."""
    answer: str = Field(max_length=200)
    """The answer in at most ten words; empty for none."""
    confidence: float = Field(ge=0, le=1)
    """Probability that the conclusion is right."""


def render(input: ReasonerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        mark_passages(evidence.passages),
        wrap_in_tag("question", input.question),
        wrap_in_tag("draft", f"Steps so far:\n{render_steps(input.earlier_steps, evidence.passages)}")
        if input.earlier_steps
        else "",
        f"How to reason: {STRATEGY_PROMPTS[input.strategy]}",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def render_steps(steps: Sequence[ReasoningStep], passages: Sequence[Passage]) -> str:
    """Render steps for a model, each with the numbers of its passages."""
    return "\n".join(
        f"{n}. {_label_step(step)} {step.claim.text} {_render_step_marks(step, passages)}"
        for n, step in enumerate(steps, 1)
    )


def _label_step(step: ReasoningStep) -> str:
    return f"({step.kind}, by {step.link})" if step.link else f"({step.kind})"


def _render_step_marks(step: ReasoningStep, passages: Sequence[Passage]) -> str:
    return "".join(f"[{number}]" for number in find_passage_numbers(step.claim, passages))


def build_reasoning(input: ReasonerInput, output: ReasonerOutput, evidence: Evidence) -> Reasoning:
    """Return a line of thought with verbatim citations of all passages it names.

    A step that names no passage cites those of the steps it follows from. Steps after the conclusion are omitted.
    """
    said = output.steps[: output.conclusion] if 0 < output.conclusion <= len(output.steps) else output.steps
    steps: list[ReasoningStep] = []
    rests: list[tuple[int, ...]] = []
    for n, step in enumerate(said, 1):
        follows = tuple(dict.fromkeys(before for before in step.follows if 0 < before < n))
        rests.append(step.passages or tuple(dict.fromkeys(p for before in follows for p in rests[before - 1])))
        claim = cite_claim(step.text.strip(), rests[-1], evidence.passages)
        steps.append(ReasoningStep(kind=step.kind, claim=claim, follows=follows, link=step.link.strip()))
    concludes = 0 < output.conclusion <= len(output.steps)
    return Reasoning(
        strategy=input.strategy,
        steps=tuple(steps[:-1] if concludes else steps),
        conclusion=steps[-1] if concludes else None,
        answer=output.answer.strip() if steps else "",
        confidence=output.confidence if steps else 0.0,
    )


ROLE = PostprocessedRole(
    "reasoner",
    "main",
    ReasonerInput,
    ReasonerOutput,
    render,
    skip(ReasonerOutput(steps=(), conclusion=0, answer="", confidence=0.0)),
    build_reasoning,
    Reasoning,
    streamed=True,
    read_by_people=True,
)
