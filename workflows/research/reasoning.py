"""Reasoning in a workflow: a strategy thinks over what was found, and every step is checked like any other claim.

Each strategy is a function over a `Matter` that returns a line of thought, or one without steps where the evidence
bears none. What it cites of passages that it searched for itself comes back with it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.research.verification import verified
from workflows.runtime.calls import Calls
from workflows.runtime.failures import cause

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.reasoning import strategies as thinking
    from tenure.algorithms.text.questions import compared
    from tenure.algorithms.writing.manuscript import together
    from tenure.contracts.evidence.passages import PassageRef, SearchRequest
    from tenure.contracts.evidence.reasoning import Considered, Reasoning, ReasoningStep, ReasoningStrategy
    from tenure.contracts.run.run import Limits
    from tenure.roles.reasoning.hop_reasoner import HopReasonerInput
    from tenure.roles.reasoning.reasoner import ReasonerInput
    from tenure.roles.reasoning.thought_evaluator import ThoughtEvaluatorInput
    from tenure.roles.reasoning.thought_proposer import ThoughtProposerInput

SHOWN = 30
"""Passages that are thought over at once."""
HOPS = 4
"""Facts of a chain at the most."""
FOUND = 8
"""Passages of a search that a strategy makes itself."""


class Matter:
    """What is reasoned about, and what was found for it."""

    def __init__(
        self,
        calls: Calls,
        question: str,
        corpora: tuple[str, ...],
        limits: Limits,
        evidence: tuple[PassageRef, ...],
        stopped: Callable[[], bool],
    ) -> None:
        """Reason about a question.

        Args:
            calls: of the workflow.
            question: the question.
            corpora: where a strategy may search.
            limits: bounds of the run.
            evidence: what was found, best first.
            stopped: tells whether nothing new is to be begun.
        """
        self.calls, self.question, self.corpora, self.limits = calls, question, corpora, limits
        self.evidence, self.stopped = evidence, stopped

    async def think(
        self,
        strategy: ReasoningStrategy,
        so_far: tuple[ReasoningStep, ...] = (),
        evidence: tuple[PassageRef, ...] | None = None,
    ) -> Reasoning:
        """Have the reasoner put a line of thought together."""
        return await self.calls.role(
            RoleActivities.reasoner,
            ReasonerInput(question=self.question, strategy=strategy, so_far=so_far),
            self.evidence[:SHOWN] if evidence is None else evidence,
            summary=f"{strategy.replace('_', ' ')}: {self.question}",
        )

    async def search(self, query: str) -> tuple[PassageRef, ...]:
        """Search for more; what is found is known from then on."""
        found = await self.calls.search(
            SearchRequest(query=query, corpora=self.corpora, k=FOUND, max_per_source=self.limits.max_per_source),
            self.limits.min_relevance,
            summary=query,
        )
        self.evidence = together([self.evidence, found])
        return found


class Reasoned(NamedTuple):
    """What came of reasoning."""

    line: Reasoning | None = None
    """The line of thought as far as it holds; None where nothing sound could be said."""
    passages: tuple[PassageRef, ...] = ()
    """What it cites."""
    notes: tuple[str, ...] = ()
    """What a reader should know of how it went."""


async def _at_once(matter: Matter, strategy: ReasoningStrategy) -> Reasoning:
    """Think the whole line at once."""
    return await matter.think(strategy)


async def _analogical(matter: Matter, strategy: ReasoningStrategy) -> Reasoning:
    """Look for the principles of both things before they are laid side by side."""
    sides = compared(matter.question) or ()
    await asyncio.gather(*(matter.search(f"{side} principles and mechanisms") for side in sides))
    return await matter.think(strategy)


async def _self_consistency(matter: Matter, strategy: ReasoningStrategy) -> Reasoning:
    """Let lines of thought that share no source answer side by side, and count their votes."""
    samples = thinking.samples(matter.evidence[: 2 * SHOWN], matter.limits.reasoning_samples)
    lines = await asyncio.gather(*(matter.think(strategy, evidence=sample[:SHOWN]) for sample in samples))
    return thinking.outvoted(lines) or Reasoning(strategy=strategy)


async def _tree(matter: Matter, strategy: ReasoningStrategy) -> Reasoning:
    """Grow a tree of thoughts level by level; an evaluator says which of them are followed."""
    grown: list[ReasoningStep] = []
    considered: list[Considered] = []
    level: tuple[int, ...] = (0,)
    for _ in range(matter.limits.thought_depth):
        proposed = await asyncio.gather(*(_proposed(matter, grown, tip) for tip in level))
        thoughts = thinking.fresh([one for ways in proposed for one in ways], [step.claim.text for step in grown])
        if not thoughts or matter.stopped():
            break
        judged = await _judged(matter, grown, thoughts)
        kept, dropped = thinking.pruned([one.score for one in judged], matter.limits.thought_breadth)
        considered += [
            Considered(text=thoughts[n].claim.text, score=judged[n].score, why=judged[n].why) for n in dropped
        ]
        level = tuple(range(len(grown) + 1, len(grown) + len(kept) + 1))
        grown += [thoughts[n] for n in kept]
    line = await matter.think(strategy, thinking.ordered(grown)) if grown else Reasoning(strategy=strategy)
    return line.model_copy(update={"considered": tuple(considered)})


async def _proposed(matter: Matter, grown: list[ReasoningStep], tip: int) -> list[ReasoningStep]:
    """Return the ways on from a thought, by its number; from nothing where that is 0."""
    path = thinking.path(grown, tip)
    ways = await matter.calls.role(
        RoleActivities.thought_proposer,
        ThoughtProposerInput(question=matter.question, path=path, breadth=matter.limits.thought_breadth),
        matter.evidence[:SHOWN],
        summary=f"after “{path[-1]}”" if path else matter.question,
    )
    return [one.model_copy(update={"follows": (tip,) if tip else ()}) for one in ways.thoughts]


async def _judged(matter: Matter, grown: list[ReasoningStep], thoughts: list[ReasoningStep]) -> list[thinking.Score]:
    verdicts = await matter.calls.role(
        RoleActivities.thought_evaluator,
        ThoughtEvaluatorInput(
            question=matter.question,
            thoughts=tuple(one.claim.text for one in thoughts),
            led=tuple(grown[one.follows[0] - 1].claim.text if one.follows else "" for one in thoughts),
        ),
        matter.evidence[:SHOWN],
        summary=f"{len(thoughts)} thoughts",
    )
    return thinking.scores([(one.thought, one.score, one.why) for one in verdicts.scores], len(thoughts))


async def _multi_hop(matter: Matter, strategy: ReasoningStrategy) -> Reasoning:
    """Find one fact after the other, each named by the one before, and put the chain together."""
    asked, link = matter.question, ""
    found, hops = matter.evidence, list[ReasoningStep]()
    while len(hops) < HOPS and not matter.stopped():
        hop = await matter.calls.role(
            RoleActivities.hop_reasoner,
            HopReasonerInput(
                question=matter.question, asked=asked, facts=tuple(step.claim.text for step in hops), link=link
            ),
            found[:SHOWN],
            summary=asked,
        )
        if hop.fact is None:
            break
        follows = (len(hops),) if hops else ()
        hops.append(ReasoningStep(kind="hop", claim=hop.fact, follows=follows, link=link))
        if hop.complete or not hop.next_question:
            break
        asked, link = hop.next_question, hop.link
        found = together([await matter.search(asked), found])
    if len(hops) < thinking.LEAST_SAID:
        return Reasoning(strategy=strategy)
    first = thinking.cited(Reasoning(strategy=strategy, steps=tuple(hops)), matter.evidence)
    return await matter.think(strategy, tuple(hops), tuple(dict.fromkeys((*first, *matter.evidence)))[:SHOWN])


STRATEGIES: Final[Mapping[ReasoningStrategy, Callable[[Matter, ReasoningStrategy], Awaitable[Reasoning]]]] = {
    "chain": _at_once,
    "causal": _at_once,
    "counterfactual": _at_once,
    "analogical": _analogical,
    "self_consistency": _self_consistency,
    "tree": _tree,
    "multi_hop": _multi_hop,
}
"""Every strategy by its name."""


async def reasoned(matter: Matter, strategy: ReasoningStrategy) -> Reasoned:
    """Reason about a question and check every step; what fails or holds nothing is told, and costs the run nothing."""
    named = f"Reasoning ({strategy.replace('_', ' ')})"
    try:
        thought = await STRATEGIES[strategy](matter, strategy)
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        return Reasoned(notes=(f"{named} was given up: {cause(error)}",))
    said = thinking.drafts(thought)
    settled = (
        await verified(matter.calls, matter.question, said, matter.evidence[:SHOWN], "Reasoning") if said else None
    )
    line = thinking.held(thought, settled.drafts) if settled else None
    removed = settled.notes if settled else ()
    if line is None and matter.limits.reasoning is None:
        return Reasoned(notes=removed)  # nobody waits for a part that nobody has asked for; the trace tells of it
    if line is None:
        return Reasoned(notes=(*removed, f"{named}: what was found bears no line of thought, so none is set out."))
    return Reasoned(line, thinking.cited(line, matter.evidence), removed)
