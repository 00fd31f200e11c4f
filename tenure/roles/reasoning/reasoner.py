"""Reasoner: the line of thought that leads from the evidence to an answer (document 003, Reasoning Engine).

One role for all strategies, since they differ in what the steps are and not in what a step is: a sentence, what it
rests on in the evidence, and the steps it follows from.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.citations import cite
from tenure.algorithms.fallback.analogies import mapped
from tenure.algorithms.fallback.causes import explained
from tenure.algorithms.fallback.inferences import inferred, unfolded
from tenure.algorithms.fallback.suppositions import supposed
from tenure.algorithms.reasoning.arguments import NOTHING, Argument, Step, weakest
from tenure.algorithms.reasoning.short_answers import answered
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.contracts.evidence.reasoning import MOST_STEPS, Reasoning, ReasoningStep, ReasoningStrategy, StepKind
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import joined, numbers

SYSTEM = f"""You reason from evidence to the answer of a question, in steps that a reader can follow and check one by
one. You are given numbered passages, the question and the way to reason.

Write two to {MOST_STEPS} steps. For each step give:
- kind: what it is, as the way to reason says.
- text: one full sentence with its subject named, without citation marks.
- passages: numbers of the passages it rests on. A step that states a fact names at least one. A step that only follows
  from earlier steps names none.
- follows: numbers of earlier steps it follows from; empty for a fact.
- link: the name or the few words that connect it to the step before it; empty where nothing connects them.

The last step draws the conclusion. Then give:
- conclusion: the number of the step that answers the question; 0 if the evidence allows no conclusion.
- answer: the answer in at most ten words; empty if there is none.
- confidence: how likely the conclusion is right, from 0 to 1, given how well the passages bear out every step.

Take no step that the passages and earlier steps do not allow, and fill no gap with what you know. If the evidence does
not allow any reasoning, return no steps. Say nothing twice, and do not retell the passages: a step that leads nowhere
is left out. {EVIDENCE_RULE}"""

WAYS: Final[Mapping[ReasoningStrategy, str]] = {
    "chain": "Think step by step. Steps are `premise` (a fact from the passages) and `inference` (what follows). For a "
    "question about a course of time they are `event`, in the order of time, with the date as link.",
    "tree": "Several lines of thought were explored and judged, and those that were kept are given as steps so far. "
    "Build the argument from them. Steps are `for`, `against` and `point`, and the last one, an `inference`, weighs "
    "them up.",
    "analogical": "Reason by analogy between the things that the question compares. First `pattern`: a principle or "
    "mechanism of the one. Then `mapping`: what corresponds to it in the other, following from the pattern. Then "
    "`limit`: where the likeness ends. The conclusion is an `inference`: what carries over and what does not.",
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
"""What the model is told of each strategy."""


class ReasonerInput(RoleInput):
    """What is to be reasoned about."""

    question: str
    """The question."""
    strategy: ReasoningStrategy
    """How."""
    so_far: tuple[ReasoningStep, ...] = ()
    """Steps that were found before; they are put together here."""


class ReasonedStep(BaseModel):
    """One step."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: StepKind
    """What it is."""
    text: str = Field(min_length=1, max_length=1200)
    """The step as one sentence, without citation marks and without Markdown."""
    passages: tuple[int, ...]
    """Numbers of the passages it rests on; empty for a step that only follows from others."""
    follows: tuple[int, ...]
    """Numbers, from 1, of the earlier steps it follows from."""
    link: str = Field(max_length=200)
    """What connects it to the step before it, in a few words; may be empty."""


class ReasonerOutput(RoleOutput):
    """A line of thought."""

    steps: tuple[ReasonedStep, ...] = Field(max_length=MOST_STEPS)
    """The steps in order, the conclusion last; none if nothing sound can be said."""
    conclusion: int
    """Number of the step that answers the question; 0 for none."""
    answer: str = Field(max_length=200)
    """The answer in at most ten words; empty for none."""
    confidence: float = Field(ge=0, le=1)
    """How likely the conclusion is right."""


def render(input: ReasonerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(
        mark_passages(evidence.passages),
        tagged("question", input.question),
        tagged("draft", f"Steps so far:\n{listed(input.so_far, evidence.passages)}") if input.so_far else "",
        f"How to reason: {WAYS[input.strategy]}",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def listed(steps: Sequence[ReasoningStep], passages: Sequence[Passage]) -> str:
    """Render steps for a model, each with the numbers of its passages."""
    return "\n".join(
        f"{n}. {_named(step)} {step.claim.text} {_marks(step, passages)}" for n, step in enumerate(steps, 1)
    )


def _named(step: ReasoningStep) -> str:
    return f"({step.kind}, by {step.link})" if step.link else f"({step.kind})"


def _marks(step: ReasoningStep, passages: Sequence[Passage]) -> str:
    return "".join(f"[{number}]" for number in numbers(step.claim, passages))


def offline(input: ReasonerInput, evidence: Evidence) -> ReasonerOutput:
    """Put the sources' own sentences into an order in which one follows from another; nothing where none does."""
    if input.strategy in ("tree", "multi_hop"):
        return _put_together(input, evidence.passages)
    found = next(
        (
            one
            for way in _TWINS[input.strategy]
            if _says((one := way(input.question, evidence.passages, evidence.vectors)))
        ),
        NOTHING,
    )
    concluded = [found.conclusion] if found.conclusion else []
    steps = [*found.steps, *concluded][:MOST_STEPS]
    return ReasonerOutput(
        steps=tuple(_written(step) for step in steps),
        conclusion=len(steps) if concluded else 0,
        answer=found.answer,
        confidence=found.confidence,
    )


_TWINS: Final[Mapping[str, Sequence[Callable[[str, Sequence[Passage], Encoder], Argument]]]] = {
    "chain": (unfolded, inferred),
    "analogical": (mapped,),
    "causal": (explained,),
    "counterfactual": (supposed,),
    "self_consistency": (answered,),
}
"""What a twin tries, one after the other, until one has something to say."""


def _says(found: Argument) -> bool:
    return bool(found.steps or found.conclusion)


def _written(step: Step) -> ReasonedStep:
    return ReasonedStep(
        kind=step.kind, text=step.text, passages=(step.passage,), follows=step.follows, link=step.link[:200]
    )


def _put_together(input: ReasonerInput, passages: Sequence[Passage]) -> ReasonerOutput:
    """Return the steps so far: hops with the last one as the conclusion, thoughts where both sides have their say."""
    kinds = {step.kind for step in input.so_far}
    hops = input.strategy == "multi_hop"
    if len(input.so_far) < 2 or not (hops or {"for", "against"} <= kinds):
        return ReasonerOutput(steps=(), conclusion=0, answer="", confidence=0.0)
    steps = tuple(
        ReasonedStep(
            kind=step.kind,
            text=step.claim.text,
            passages=numbers(step.claim, passages),
            follows=step.follows,
            link=step.link[:200],
        )
        for step in input.so_far
    )[:MOST_STEPS]
    near = [passages[number - 1].relevance for step in steps for number in step.passages]
    return ReasonerOutput(steps=steps, conclusion=len(steps) if hops else 0, answer="", confidence=weakest(near))


def reasoned(input: ReasonerInput, output: ReasonerOutput, passages: Sequence[Passage]) -> Reasoning:
    """Return a line of thought with every named passage turned into a verbatim citation.

    A step that names no passage rests on those of the steps it follows from. What comes after the conclusion does not
    lead to it and is left out.
    """
    said = output.steps[: output.conclusion] if 0 < output.conclusion <= len(output.steps) else output.steps
    steps: list[ReasoningStep] = []
    rests: list[tuple[int, ...]] = []
    for n, step in enumerate(said, 1):
        follows = tuple(dict.fromkeys(before for before in step.follows if 0 < before < n))
        rests.append(step.passages or tuple(dict.fromkeys(p for before in follows for p in rests[before - 1])))
        claim = cite(step.text.strip(), rests[-1], passages)
        steps.append(ReasoningStep(kind=step.kind, claim=claim, follows=follows, link=step.link.strip()))
    concludes = 0 < output.conclusion <= len(output.steps)
    return Reasoning(
        strategy=input.strategy,
        steps=tuple(steps[:-1] if concludes else steps),
        conclusion=steps[-1] if concludes else None,
        answer=output.answer.strip() if steps else "",
        confidence=output.confidence if steps else 0.0,
    )


ROLE = Role("reasoner", "main", ReasonerOutput, render, offline, streamed=True, read_by_people=True)
