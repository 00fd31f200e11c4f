"""The words in which a line of thought is shown: how it was reasoned, what each step is, what was not followed."""

from collections.abc import Mapping

from tenure.contracts.evidence.reasoning import Considered, ReasoningStrategy, StepKind
from tenure.contracts.result.result import ResultReasoning, ResultStep
from tenure.report.render.escaping import escape, flatten
from tenure.report.render.marks import Marks, to_markdown

HEADING = "Reasoning"
"""The heading of the part."""

NOT_FOLLOWED = "Weighed and not followed:"
"""What is said before thoughts that were pruned or outvoted."""

HOW: Mapping[ReasoningStrategy, str] = {
    "chain": "Step by step",
    "tree": "By exploring several lines of thought",
    "analogical": "By analogy, from what is shared to where it ends",
    "causal": "From causes to effects",
    "counterfactual": "From what would follow if it were otherwise",
    "self_consistency": "By the vote of answers that share no source",
    "multi_hop": "From one fact to the next that it names",
}
"""How it was reasoned, in words."""

KINDS: Mapping[StepKind, str] = {
    "premise": "Given",
    "inference": "Hence",
    "event": "Event",
    "cause": "Cause",
    "supposition": "As it is",
    "consequence": "Consequence",
    "pattern": "Pattern",
    "mapping": "Counterpart",
    "limit": "Limit",
    "point": "Point",
    "for": "For",
    "against": "Against",
    "answer": "Answer",
    "hop": "Fact",
}
"""What a step is, in a word."""


def opening(reasoning: ResultReasoning) -> str:
    """Say how it was reasoned and how sure that is."""
    return f"{HOW[reasoning.strategy]}; confidence {reasoning.confidence:.0%}."


def label(step: ResultStep, *, concludes: bool = False) -> str:
    """Name a step, and say what it rests on and by what it is connected."""
    if step.kind == "event" and step.link:
        return flatten(step.link)
    rests = "from " + " and ".join(map(str, step.follows)) if step.follows else ""
    linked = f"by “{flatten(step.link)}”" if step.link else ""
    how = ", ".join(part for part in (rests, linked) if part)
    name = "Conclusion" if concludes else KINDS[step.kind]
    return f"{name} ({how})" if how else name


def weighed(thought: Considered) -> str:
    """Say what was not followed, what it was worth, and why."""
    return f"{flatten(thought.text)} ({thought.score:.0%}; {flatten(thought.why)})"


def to_text(reasoning: ResultReasoning, named: Marks) -> str:
    """Set a line of thought as Markdown."""

    def said(step: ResultStep, *, concludes: bool = False) -> str:
        alone = step.claim.model_copy(update={"begins": "paragraph"})
        return f"**{escape(label(step, concludes=concludes))}:** {to_markdown([alone], named)}"

    parts = [f"*{opening(reasoning)}*"]
    parts.append("\n".join(f"{n}. {said(step)}" for n, step in enumerate(reasoning.steps, 1)))
    if reasoning.conclusion:
        parts.append(said(reasoning.conclusion, concludes=True))
    if reasoning.considered:
        others = "\n".join(f"- {escape(weighed(one))}" for one in reasoning.considered)
        parts.append(f"{NOT_FOLLOWED}\n\n{others}")
    return "\n\n".join(part for part in parts if part)
