"""Reason over the findings of a run with one of several strategies, and verify every step like any other claim.

A strategy is a function of a `ReasoningTask` that returns a line of thought, without steps if the evidence supports
none. Passages that a strategy searches for itself are added to the evidence of the task.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from temporalio import workflow

from workflows.research.verification import verify_drafts
from workflows.runtime.clients import ActivityClients

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.reasoning import strategies
    from tenure.algorithms.text.questions import extract_compared_items
    from tenure.algorithms.writing.manuscript import interleave_passages
    from tenure.contracts.evidence.passages import PassageRef, SearchRequest
    from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep, ReasoningStrategy, RejectedThought
    from tenure.contracts.run.run import RunLimits
    from tenure.roles.reasoning import hop_reasoner, reasoner, thought_evaluator, thought_proposer
    from tenure.roles.reasoning.hop_reasoner import HopReasonerInput
    from tenure.roles.reasoning.reasoner import ReasonerInput
    from tenure.roles.reasoning.thought_evaluator import ThoughtEvaluatorInput
    from tenure.roles.reasoning.thought_proposer import ThoughtProposerInput

MAX_PASSAGES = 30
"""Passages that one call reads."""
MAX_HOPS = 4
"""Facts of a chain."""
PASSAGES_PER_SEARCH = 8
"""Passages of a search of a strategy."""


class ReasoningTask:
    """Question that is reasoned about, and its evidence."""

    def __init__(
        self,
        clients: ActivityClients,
        question: str,
        corpora: tuple[str, ...],
        limits: RunLimits,
        evidence: tuple[PassageRef, ...],
        is_stopped: Callable[[], bool],
    ) -> None:
        """Create a task.

        Args:
            clients: clients of the workflow.
            question: the question.
            corpora: corpora that a strategy may search.
            limits: limits of the run.
            evidence: passages found so far, best first.
            is_stopped: returns whether nothing new is to start.
        """
        self.clients, self.question, self.corpora, self.limits = clients, question, corpora, limits
        self.evidence, self.is_stopped = evidence, is_stopped

    async def think(
        self,
        strategy: ReasoningStrategy,
        earlier_steps: tuple[ReasoningStep, ...] = (),
        evidence: tuple[PassageRef, ...] | None = None,
    ) -> Reasoning:
        """Ask the reasoner for a line of thought."""
        return await self.clients.models.ask(
            reasoner.ROLE,
            ReasonerInput(question=self.question, strategy=strategy, earlier_steps=earlier_steps),
            self.evidence[:MAX_PASSAGES] if evidence is None else evidence,
            summary=f"{strategy.replace('_', ' ')}: {self.question}",
        )

    async def search(self, query: str) -> tuple[PassageRef, ...]:
        """Search and add the passages to the evidence."""
        found = await self.clients.knowledge.search(
            SearchRequest(
                query=query, corpora=self.corpora, k=PASSAGES_PER_SEARCH, max_per_source=self.limits.max_per_source
            ),
            self.limits.min_relevance,
            summary=query,
        )
        self.evidence = interleave_passages([self.evidence, found])
        return found


class ReasoningResult(NamedTuple):
    """Verified result of reasoning."""

    line: Reasoning | None = None
    """The verified line of thought; None if there is none."""
    passages: tuple[PassageRef, ...] = ()
    """Passages that it cites."""
    notes: tuple[str, ...] = ()
    """Notes for readers on failures and removed steps."""


async def _reason_directly(task: ReasoningTask, strategy: ReasoningStrategy) -> Reasoning:
    """Have the whole line written in one call."""
    return await task.think(strategy)


async def _reason_by_analogy(task: ReasoningTask, strategy: ReasoningStrategy) -> Reasoning:
    """Search for the principles of both things that are compared, then reason."""
    sides = extract_compared_items(task.question) or ()
    await asyncio.gather(*(task.search(f"{side} principles and mechanisms") for side in sides))
    return await task.think(strategy)


async def _vote(task: ReasoningTask, strategy: ReasoningStrategy) -> Reasoning:
    """Have several lines of thought written from disjoint sources, and take the majority (self-consistency)."""
    samples = strategies.partition_by_source(task.evidence[: 2 * MAX_PASSAGES], task.limits.reasoning_samples)
    lines = await asyncio.gather(*(task.think(strategy, evidence=sample[:MAX_PASSAGES]) for sample in samples))
    return strategies.select_majority(lines) or Reasoning(strategy=strategy)


async def _grow_tree(task: ReasoningTask, strategy: ReasoningStrategy) -> Reasoning:
    """Grow a tree of thoughts level by level; an evaluator selects which are followed (tree of thoughts)."""
    tree: list[ReasoningStep] = []
    rejected: list[RejectedThought] = []
    level: tuple[int, ...] = (0,)
    for _ in range(task.limits.thought_depth):
        proposals = await asyncio.gather(*(_propose_thoughts(task, tree, tip) for tip in level))
        thoughts = strategies.select_new_thoughts(
            [thought for proposed in proposals for thought in proposed], [step.claim.text for step in tree]
        )
        if not thoughts or task.is_stopped():
            break
        scored = await _score_thoughts(task, tree, thoughts)
        kept, dropped = strategies.prune_thoughts([thought.score for thought in scored], task.limits.thought_breadth)
        rejected += [
            RejectedThought(text=thoughts[n].claim.text, score=scored[n].score, reason=scored[n].reason)
            for n in dropped
        ]
        level = tuple(range(len(tree) + 1, len(tree) + len(kept) + 1))
        tree += [thoughts[n] for n in kept]
    line = await task.think(strategy, strategies.flatten_tree(tree)) if tree else Reasoning(strategy=strategy)
    return line.model_copy(update={"rejected": tuple(rejected)})


async def _propose_thoughts(task: ReasoningTask, tree: list[ReasoningStep], tip: int) -> list[ReasoningStep]:
    """Propose thoughts that follow a thought, given by its number; 0 is the root."""
    path = strategies.trace_path(tree, tip)
    output = await task.clients.models.ask(
        thought_proposer.ROLE,
        ThoughtProposerInput(question=task.question, path=path, breadth=task.limits.thought_breadth),
        task.evidence[:MAX_PASSAGES],
        summary=f"after “{path[-1]}”" if path else task.question,
    )
    return [thought.model_copy(update={"follows": (tip,) if tip else ()}) for thought in output.thoughts]


async def _score_thoughts(
    task: ReasoningTask, tree: list[ReasoningStep], thoughts: list[ReasoningStep]
) -> list[strategies.ScoredThought]:
    output = await task.clients.models.ask(
        thought_evaluator.ROLE,
        ThoughtEvaluatorInput(
            question=task.question,
            thoughts=tuple(thought.claim.text for thought in thoughts),
            paths=tuple(tree[thought.follows[0] - 1].claim.text if thought.follows else "" for thought in thoughts),
        ),
        task.evidence[:MAX_PASSAGES],
        summary=f"{len(thoughts)} thoughts",
    )
    return strategies.collect_scores(
        [(score.thought, score.score, score.why) for score in output.scores], len(thoughts)
    )


async def _follow_hops(task: ReasoningTask, strategy: ReasoningStrategy) -> Reasoning:
    """Find fact after fact, each named by the one before, then reason over the chain."""
    hop_question, link = task.question, ""
    found, hops = task.evidence, list[ReasoningStep]()
    while len(hops) < MAX_HOPS and not task.is_stopped():
        hop = await task.clients.models.ask(
            hop_reasoner.ROLE,
            HopReasonerInput(
                question=task.question,
                hop_question=hop_question,
                facts=tuple(step.claim.text for step in hops),
                link=link,
            ),
            found[:MAX_PASSAGES],
            summary=hop_question,
        )
        if hop.fact is None:
            break
        follows = (len(hops),) if hops else ()
        hops.append(ReasoningStep(kind="hop", claim=hop.fact, follows=follows, link=link))
        if hop.complete or not hop.next_question:
            break
        hop_question, link = hop.next_question, hop.link
        found = interleave_passages([await task.search(hop_question), found])
    if len(hops) < strategies.MIN_SENTENCES:
        return Reasoning(strategy=strategy)
    first = strategies.select_cited_passages(Reasoning(strategy=strategy, steps=tuple(hops)), task.evidence)
    return await task.think(strategy, tuple(hops), tuple(dict.fromkeys((*first, *task.evidence)))[:MAX_PASSAGES])


REASONING_STRATEGIES: Final[
    Mapping[ReasoningStrategy, Callable[[ReasoningTask, ReasoningStrategy], Awaitable[Reasoning]]]
] = {
    "chain": _reason_directly,
    "causal": _reason_directly,
    "counterfactual": _reason_directly,
    "analogical": _reason_by_analogy,
    "self_consistency": _vote,
    "tree": _grow_tree,
    "multi_hop": _follow_hops,
}
"""Every reasoning strategy by its name."""


async def reason_over(task: ReasoningTask, strategy: ReasoningStrategy) -> ReasoningResult:
    """Reason with a strategy and verify every step.

    Without a line of thought there is a note only if a person asked for reasoning; the trace shows it in any case.
    """
    name = f"Reasoning ({strategy.replace('_', ' ')})"
    reasoning = await REASONING_STRATEGIES[strategy](task, strategy)
    line, notes = await _verify_steps(task, reasoning)
    if line is None and task.limits.reasoning is not None:
        notes = (*notes, f"{name} led to no line of thought, so the report has none.")
    if line is None:
        return ReasoningResult(notes=notes)
    return ReasoningResult(line, strategies.select_cited_passages(line, task.evidence), notes)


async def _verify_steps(task: ReasoningTask, reasoning: Reasoning) -> tuple[Reasoning | None, tuple[str, ...]]:
    """Return the supported part of a line of thought, None if there is none, and notes on removed steps."""
    drafts = strategies.to_drafts(reasoning)
    if not drafts:
        return None, ()
    verification = await verify_drafts(task.clients, task.question, drafts, task.evidence[:MAX_PASSAGES], "Reasoning")
    return strategies.apply_verification(reasoning, verification.drafts), verification.notes
