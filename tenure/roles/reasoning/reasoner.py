"""Reason from the dossier to an answer, by one of several strategies, in steps that a reader can follow and check.

One answer carries a strategy out: a tree of thoughts (Yao et al., 2023) names the thoughts that it does not follow, and
a chain of facts names the search that finds its next one.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tenure.algorithms.claims.citations import cite_claim
from tenure.algorithms.reasoning.strategies import group_numbers
from tenure.contracts.choices import ReasoningStrategy
from tenure.contracts.evidence.reasoning import MAX_REASONING_QUERIES, MAX_REASONING_STEPS, Reasoning, ReasoningStep
from tenure.contracts.messages import Message
from tenure.contracts.research.report import Topic
from tenure.roles.base import Evidence, PostprocessedRole, RoleInput, skip, wrap_in_tag
from tenure.roles.dossier_prompting import SYSTEM as DOSSIER_SYSTEM
from tenure.roles.dossier_prompting import build_messages, render_requests
from tenure.roles.prompting import render_reasoning
from tenure.roles.reasoning_entries import ReasonerOutput, WrittenStep, parse_reasoning

SYSTEM = DOSSIER_SYSTEM
"""System text of every role that reads a dossier."""

TASK: Final = f"""Reason from the passages to the answer of the question, in two to {MAX_REASONING_STEPS} steps that a
reader can follow and check one by one. The report is written afterwards, also from your line.

Answer with entries, each at the start of a line, and nothing else:
STEP 1 premise: one full sentence with its subject named, and its marks [3, 8].
STEP 2 inference after 1: a step that follows from earlier ones names them; it has marks if it needs passages as well.
STEP 3 hop after 2 via name: `via` and the name that connects a step to the one before it, if a name does.
REJECTED 0.2: a thought that you judged and do not follow, after its score from 0 to 1 – and why.
CONCLUSION after 2, 3: the sentence that answers the question; left out if the passages allow none.
ANSWER: the answer in at most ten words; left out if the question has several parts or asks for an explanation.
CONFIDENCE: from 0 to 1, how likely the conclusion is right, by how well the passages support every step.
NONE – alone, if the passages allow no reasoning.

Take no step that the passages and earlier steps do not allow, and fill no gap with what you know. Say nothing twice,
and do not retell the passages: a step that leads nowhere is left out."""

STRATEGY_PROMPTS: Final[Mapping[ReasoningStrategy, str]] = {
    "chain": "Think step by step. Steps are `premise` (a fact from the passages) and `inference` (what follows). For a "
    "question about a course of time they are `event`, in the order of time, with the date after `via`.",
    "tree": "Explore a tree of thoughts before you conclude. Begin with 3 different thoughts that each decide "
    "something, and score each from 0 to 1: high if the passages support it and it takes a real step towards the "
    "answer, low if it misses the point, rests on little or contradicts them. Continue the best ones for 2 "
    "levels: develop, test or oppose them, and score again. At most 3 thoughts of a level are followed, none "
    "below 0.3. Those that you follow are steps `for`, `against` and `point`; all others are REJECTED entries. The "
    "conclusion weighs the steps up.",
    "analogical": "Reason by analogy between the things that the question compares. First `pattern`: a principle or "
    "mechanism of the one. Then `mapping`: what corresponds to it in the other, following from the pattern. Then "
    "`limit`: where the likeness ends. Of more than two things, the `pattern` is common to all, and each `mapping` is "
    "one true difference. The conclusion says what carries over and what does not.",
    "causal": "Reason from causes to effects. Every step is a `cause` that names what brings what about, and the "
    "effect of one is the cause of the next where that is so. Keep apart what sources call a cause and what merely "
    "goes along with it.",
    "counterfactual": "Suppose that it were as the question says. First `supposition`: what is the case now and "
    "rests on what would change. Then `consequence`: what would follow, following from the suppositions. Say only "
    "what the passages allow, and how far it reaches.",
    "self_consistency": "Answer the question by yourself, step by step. Steps are `premise` and `inference`. Others "
    "reason from the other passages, and their answers are compared with yours, so give it exactly.",
    "multi_hop": "Find fact after fact, each of which names what the next one is about. Steps are `hop`, each with the "
    "name from the fact before after `via`. If the passages lack the next fact, end with the steps so far.",
}
"""Instructions of each strategy."""

SEARCH_TASK: Final = f"""If a fact of the chain is missing, and only then, write at most {MAX_REASONING_QUERIES} entries
SEARCH: a full question for it that contains the name found so far (“Where was George Eliot born?”). Its results are
added to the passages, and you reason again."""


class ReasonerInput(RoleInput):
    """Question and strategy."""

    question: str
    """The question."""
    topics: tuple[Topic, ...] = ()
    """Parts of the question."""
    strategy: ReasoningStrategy
    """The strategy."""
    numbers: tuple[int, ...] = ()
    """Numbers of the only passages to reason from; empty for all."""
    line: Reasoning | None = None
    """Line so far, after which its searches were made; None for a new one."""
    may_search: bool = False
    """Whether searches can follow."""


def render(input: ReasonerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    line = input.line
    return build_messages(
        input.question,
        input.topics,
        evidence,
        "reasoner",
        wrap_in_tag("reasoning", f"Your line so far:\n{render_reasoning(line, evidence.passages)}") if line else "",
        render_requests("Searches made for it, whose passages are the last ones; write the whole line", line.queries)
        if line
        else "",
        TASK,
        f"How to reason: {STRATEGY_PROMPTS[input.strategy]}",
        f"Reason only from the passages {group_numbers(input.numbers)}." if input.numbers else "",
        SEARCH_TASK if input.may_search else "",
    )


def build_reasoning(input: ReasonerInput, output: ReasonerOutput, evidence: Evidence) -> Reasoning:
    """Return a line of thought with verbatim citations of all passages it names.

    A step that names no passage cites those of the steps it follows from.
    """
    names = {step.number or n: n for n, step in enumerate(output.steps, 1)}
    steps: list[ReasoningStep] = []
    rests: list[tuple[int, ...]] = []
    for n, step in enumerate((*output.steps, *([output.conclusion] if output.conclusion else [])), 1):
        follows = tuple(dict.fromkeys(names[number] for number in step.follows if names.get(number, n) < n))
        inherited = dict.fromkeys(passage for number in follows for passage in rests[number - 1])
        rests.append(_select_numbers(input, step) or tuple(inherited))
        claim = cite_claim(step.sentence.text, rests[-1], evidence.passages)
        steps.append(ReasoningStep(kind=step.kind, claim=claim, follows=follows, link=step.link))
    return Reasoning(
        strategy=input.strategy,
        steps=tuple(steps[: len(output.steps)]),
        conclusion=steps[-1] if output.conclusion else None,
        answer=output.answer if steps else "",
        confidence=output.confidence if steps else 0.0,
        rejected=output.rejected,
        queries=output.queries if input.may_search else (),
    )


def _select_numbers(input: ReasonerInput, step: WrittenStep) -> tuple[int, ...]:
    """Return the passages of a step, without those that it was not to reason from."""
    numbers: Iterable[int] = step.sentence.passages
    return tuple(n for n in numbers if not input.numbers or n in input.numbers)


ROLE = PostprocessedRole(
    "reasoner",
    "main",
    ReasonerInput,
    ReasonerOutput,
    render,
    skip(ReasonerOutput()),
    build_reasoning,
    Reasoning,
    parse_text=parse_reasoning,
    streamed=True,
    read_by_people=True,
)
