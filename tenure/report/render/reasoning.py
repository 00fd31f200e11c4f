"""Render a line of reasoning: its method, its steps and the discarded alternatives."""

from collections.abc import Mapping

from tenure.algorithms.reasoning.strategies import describe_chain
from tenure.contracts.evidence.reasoning import ReasoningStrategy, RejectedThought, StepKind
from tenure.contracts.result.result import ResultReasoning, ResultStep
from tenure.report.render.escaping import escape, flatten
from tenure.report.render.marks import CitationMarks, to_markdown

HEADING = "Reasoning"
"""Heading of the part."""

NOT_FOLLOWED = "Alternatives that were discarded:"
"""Remark before thoughts that were pruned or outvoted."""

HOW: Mapping[ReasoningStrategy, str] = {
    "chain": "Step by step",
    "tree": "By exploring several lines of reasoning",
    "analogical": "By analogy",
    "causal": "From causes to effects",
    "counterfactual": "From a counterfactual assumption",
    "self_consistency": "By a vote of answers from independent sources",
    "multi_hop": "From one fact to the next",
}
"""Descriptions of the reasoning methods."""

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
"""Descriptions of the kinds of steps."""


def describe_method(reasoning: ResultReasoning) -> str:
    """Return the reasoning method, and the names of a chain of facts."""
    chain = describe_chain(((step.kind, flatten(step.link)) for step in reasoning.steps), flatten(reasoning.answer))
    return f"{HOW[reasoning.strategy]}: {chain}." if chain else f"{HOW[reasoning.strategy]}."


def label(step: ResultStep, *, concludes: bool = False) -> str:
    """Return the kind of a step, the steps it rests on, and its connection."""
    if step.kind == "event" and step.link:
        return flatten(step.link)
    rests = "from " + " and ".join(map(str, step.follows)) if step.follows else ""
    linked = f"by “{flatten(step.link)}”" if step.link else ""
    how = ", ".join(part for part in (rests, linked) if part)
    name = "Conclusion" if concludes else KINDS[step.kind]
    return f"{name} ({how})" if how else name


def describe_alternatives(thought: RejectedThought) -> str:
    """Return the discarded alternatives with their scores and reasons."""
    return f"{flatten(thought.text)} ({flatten(thought.reason)})"


def to_text(reasoning: ResultReasoning, named: CitationMarks) -> str:
    """Return a line of reasoning as Markdown."""

    def said(step: ResultStep, *, concludes: bool = False) -> str:
        alone = step.claim.model_copy(update={"begins": "paragraph"})
        return f"**{escape(label(step, concludes=concludes))}:** {to_markdown([alone], named)}"

    parts = [f"*{describe_method(reasoning)}*"]
    parts.append("\n".join(f"{n}. {said(step)}" for n, step in enumerate(reasoning.steps, 1)))
    if reasoning.conclusion:
        parts.append(said(reasoning.conclusion, concludes=True))
    if reasoning.rejected:
        others = "\n".join(f"- {escape(describe_alternatives(one))}" for one in reasoning.rejected)
        parts.append(f"{NOT_FOLLOWED}\n\n{others}")
    return "\n\n".join(part for part in parts if part)
