"""Set a line of reasoning: its method, its steps and the discarded alternatives."""

from collections.abc import Iterator, Mapping

from tenure.algorithms.reasoning.strategies import describe_chain
from tenure.algorithms.text.printable import flatten
from tenure.contracts.choices import ReasoningStrategy
from tenure.contracts.evidence.reasoning import StepKind
from tenure.contracts.result.result import ResultReasoning, ResultStep
from tenure.report.layout.claims import ClaimLayout
from tenure.report.layout.text import format_words, make_line
from tenure.report.layout.tree import BlockNode, Line, ListNode, ParagraphNode

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


def set_reasoning(reasoning: ResultReasoning, claims: ClaimLayout) -> Iterator[BlockNode]:
    """Yield the method, the steps, the conclusion and the discarded alternatives."""

    def set_step(label: str, step: ResultStep) -> Line:
        return make_line(format_words(f"{label}:", "strong"), " ", claims.set_sentence(step.claim))

    yield ParagraphNode(format_words(_describe_method(reasoning)))
    if reasoning.steps:
        steps = tuple(set_step(_label(step, KINDS[step.kind]), step) for step in reasoning.steps)
        yield ListNode(steps, ordered=True)
    if reasoning.conclusion:
        yield ParagraphNode(set_step(_label(reasoning.conclusion, "Conclusion"), reasoning.conclusion))
    if reasoning.rejected:
        yield ParagraphNode(make_line(NOT_FOLLOWED))
        thoughts = (f"{flatten(thought.text)} ({flatten(thought.reason)})" for thought in reasoning.rejected)
        yield ListNode(tuple(map(make_line, thoughts)))


def _describe_method(reasoning: ResultReasoning) -> str:
    """Return the reasoning method, and the names of a chain of facts."""
    chain = describe_chain(((step.kind, flatten(step.link)) for step in reasoning.steps), flatten(reasoning.answer))
    return f"{HOW[reasoning.strategy]}: {chain}." if chain else f"{HOW[reasoning.strategy]}."


def _label(step: ResultStep, name: str) -> str:
    if step.kind == "event" and step.link:
        return flatten(step.link)
    rests = "from " + " and ".join(map(str, step.follows)) if step.follows else ""
    linked = f"by “{flatten(step.link)}”" if step.link else ""
    how = ", ".join(part for part in (rests, linked) if part)
    return f"{name} ({how})" if how else name
