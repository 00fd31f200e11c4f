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
from tenure.report.translation import mark_message, translate, translate_count

NOT_FOLLOWED = mark_message("Alternatives that were discarded:")
"""Remark before thoughts that were pruned or outvoted."""

HOW: Mapping[ReasoningStrategy, str] = {
    "chain": mark_message("Step by step"),
    "tree": mark_message("By exploring several lines of reasoning"),
    "analogical": mark_message("By analogy"),
    "causal": mark_message("From causes to effects"),
    "counterfactual": mark_message("From a counterfactual assumption"),
    "self_consistency": mark_message("By a vote of answers from independent sources"),
    "multi_hop": mark_message("From one fact to the next"),
}
"""Descriptions of the reasoning methods."""

KINDS: Mapping[StepKind, str] = {
    "premise": mark_message("Given"),
    "inference": mark_message("Hence"),
    "event": mark_message("Event"),
    "cause": mark_message("Cause"),
    "supposition": mark_message("As it is"),
    "consequence": mark_message("Consequence"),
    "pattern": mark_message("Pattern"),
    "mapping": mark_message("Counterpart"),
    "limit": mark_message("Limit"),
    "point": mark_message("Point"),
    "for": mark_message("For"),
    "against": mark_message("Against"),
    "answer": mark_message("Answer"),
    "hop": mark_message("Fact"),
}
"""Descriptions of the kinds of steps."""


def set_reasoning(reasoning: ResultReasoning, claims: ClaimLayout) -> Iterator[BlockNode]:
    """Yield the method, the steps, the conclusion and the discarded alternatives."""

    def set_step(label: str, step: ResultStep) -> Line:
        return make_line(format_words(f"{label}:", "strong"), " ", claims.set_sentence(step.claim))

    yield ParagraphNode(format_words(_describe_method(reasoning)))
    if reasoning.steps:
        steps = tuple(set_step(_label(step, translate(KINDS[step.kind])), step) for step in reasoning.steps)
        yield ListNode(steps, ordered=True)
    if reasoning.conclusion:
        yield ParagraphNode(set_step(_label(reasoning.conclusion, translate("Conclusion")), reasoning.conclusion))
    if reasoning.rejected:
        yield ParagraphNode(make_line(translate(NOT_FOLLOWED)))
        thoughts = (f"{flatten(thought.text)} ({flatten(thought.reason)})" for thought in reasoning.rejected)
        yield ListNode(tuple(map(make_line, thoughts)))


def _describe_method(reasoning: ResultReasoning) -> str:
    """Return the reasoning method, and the names of a chain of facts."""
    chain = describe_chain(((step.kind, flatten(step.link)) for step in reasoning.steps), flatten(reasoning.answer))
    method = translate(HOW[reasoning.strategy])
    return f"{method}: {chain}." if chain else f"{method}."


def _label(step: ResultStep, name: str) -> str:
    if step.kind == "event" and step.link:
        return flatten(step.link)
    steps = [str(n) for n in step.follows]
    rests = translate_count(f"from {' and '.join(steps)}", "from {steps}", steps=", ".join(steps)) if steps else ""
    linked = translate("by “{link}”", link=flatten(step.link)) if step.link else ""
    how = ", ".join(part for part in (rests, linked) if part)
    return f"{name} ({how})" if how else name
