"""The searches of one task and what they found; every strategy searches through a session."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from temporalio import workflow

from workflows.research.tool_context import ToolContext
from workflows.runtime.clients import ActivityClients

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.planning import is_same_query
    from tenure.algorithms.retrieval.rrf import fuse_rankings
    from tenure.algorithms.text.counts import format_count
    from tenure.contracts.base import ChunkId
    from tenure.contracts.evidence.disputes import PositionEvidence
    from tenure.contracts.evidence.passages import DEFAULT_SEARCH_MODE, PassageRef, SearchRequest
    from tenure.contracts.evidence.react import ReactStep
    from tenure.contracts.evidence.retrieval import QueryPurpose, RetrievedPassage
    from tenure.contracts.research.spiral import CandidatePassage, PlanStep, SubagentRequest, SubagentResult
    from tenure.contracts.sandbox import Artifact
    from tenure.roles.research import query_refiner
    from tenure.roles.research.query_refiner import QueryRefinerInput

PASSAGES_PER_SEARCH = 12
"""Passages of one search."""
MAX_REFINER_PASSAGES = 8
"""Passages that the query refiner reads."""
PURPOSES_OF_RULES: Final[tuple[QueryPurpose, ...]] = ("supporting", "contradicting", "narrow")
"""Purposes for which the words of a position, or of a group of passages, make a query as good as a model's."""


class SearchSession:
    """The searches of one task, and the passages that they found."""

    def __init__(self, clients: ActivityClients, task: SubagentRequest, stopped: Callable[[], bool]) -> None:
        """Create a session without passages; `stopped` returns whether no further round is wanted."""
        self.clients = clients
        self.task = task
        self.is_stopped = stopped
        self.queries: list[str] = []
        self.found: dict[ChunkId, RetrievedPassage] = {}
        self.known: frozenset[ChunkId] = frozenset()
        self.steps: list[ReactStep] = []
        self.answer = ""
        self.positions: tuple[PositionEvidence, ...] = ()
        self.artifacts: tuple[Artifact, ...] = ()
        self.tools = ToolContext(clients, task, stopped)
        self._rankings: list[Mapping[ChunkId, int]] = []

    async def search(self, *queries: str, k: int = PASSAGES_PER_SEARCH) -> list[tuple[PassageRef, ...]]:
        """Search concurrently; return for each query at most `k` passages that are not in `known`."""
        self.queries += queries
        results = await asyncio.gather(*(self._search(query, k) for query in queries))
        for query, passages in zip(queries, results, strict=True):
            self.add_passages(passages, query)
        return results

    async def _search(self, query: str, k: int) -> tuple[PassageRef, ...]:
        step, limits = self.task.step, self.task.limits
        request = SearchRequest(
            query=query,
            corpora=self.task.corpora,
            k=k + min(len(self.known), k),
            hypothetical_answer=self.task.hypothetical_answer if query == step.query and not step.read_passage else "",
            max_per_source=None if step.read_passage else limits.max_per_source,
            sources=(step.read_passage.source,) if step.read_passage else (),
            mode=step.search_mode or DEFAULT_SEARCH_MODE,
        )
        passages = await self.clients.knowledge.search(request)
        return tuple(passage for passage in passages if passage.chunk not in self.known)[:k]

    def add_results(self, passages: Sequence[PassageRef], query: str, cited: Collection[ChunkId] = ()) -> int:
        """Add the passages that a tool found for a query and those of them that it cited; return how many are new."""
        count = len(self.found)
        if query not in self.queries:
            self.queries.append(query)
        self.add_passages(passages, query)
        for chunk in cited:
            if chunk in self.found:
                self.found[chunk] = self.found[chunk].model_copy(update={"is_cited": True})
        return len(self.found) - count

    def add_passages(self, passages: Sequence[PassageRef], query: str) -> None:
        """Add passages, best first, that a query has found or earlier runs accepted."""
        self.add_ranking(passages)
        for passage in passages:
            self.found.setdefault(passage.chunk, RetrievedPassage(passage=passage, query=query))

    def add_ranking(self, passages: Sequence[PassageRef]) -> None:
        """Add a ranking of passages, best first, to the fusion."""
        self._rankings.append({passage.chunk: rank for rank, passage in enumerate(passages, 1)})

    async def refine_query(self, passages: Sequence[PassageRef], purpose: QueryPurpose, task: str = "") -> str:
        """Return the next query for a purpose, or an empty text; `task` replaces the query of the task."""
        has_model = self.task.limits.has_model
        by_rule = has_model and purpose in PURPOSES_OF_RULES
        refined = await self.clients.models.ask(
            query_refiner.ROLE,
            QueryRefinerInput(
                question=self.task.question,
                task=task or self.task.step.query,
                queries=tuple(self.queries),
                purpose=purpose,
                only_open_parts=has_model and not by_rule,
            ),
            passages[:MAX_REFINER_PASSAGES],
            summary=f"{self.task.step.query}, after {len(self.queries)}",
            by_rule=by_rule,
        )
        query = refined.query.strip()
        return "" if refined.complete or any(is_same_query(query, earlier) for earlier in self.queries) else query

    def rank_passages(self) -> tuple[RetrievedPassage, ...]:
        """Return all passages, best first by reciprocal rank fusion of all rankings."""
        scores = fuse_rankings(self._rankings)
        return tuple(sorted(self.found.values(), key=lambda retrieved: -round(scores[retrieved.passage.chunk], 6)))

    def change_step(self, step: PlanStep) -> None:
        """Replace the step of the task by its present form."""
        self.task = self.tools.task = self.task.model_copy(update={"step": step})

    def build_result(self, planned: PlanStep) -> SubagentResult:
        """Return the result of the task, whose step was planned as `planned`."""
        step = self.task.step
        return SubagentResult(
            step=step.id,
            prepared=None if step == planned else step,
            candidates=tuple(
                CandidatePassage.model_validate({"topic": planned.topic, **dict(passage)})
                for passage in self.rank_passages()
            ),
            queries=tuple(query for query in self.queries if query != step.query),
            steps=tuple(self.steps),
            answer=self.answer,
            positions=self.positions,
        )

    def describe_findings(self) -> str:
        """Return a line on the passages of the task."""
        return f"{format_count(len(self.found), 'passage')} for “{self.task.step.query[:120]}”"
