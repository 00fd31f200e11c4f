"""Research of many cycles: histories and state stay small, and no finding is lost."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from temporalio.client import Client

from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.tiers import RUN_ALL, slow
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, plans, search, story

pytestmark = slow

CYCLES, TASKS = (50, 4) if RUN_ALL else (5, 4)
EVENTS, BYTES, STATE = 10_000, 10 * 2**20, 256 * 2**10
"""Maximum events and bytes of one history, and maximum bytes of the state passed to the next."""
LONG = "word " * 200


@dataclass
class Endless(MemoryKnowledge):
    """A knowledge base with a new and slightly relevant passage for every query."""

    def search(self, request: SearchRequest) -> SearchReply:
        self.searches.append(request)
        source = SourceId(next(iter(self.documents)))
        return SearchReply(
            passages=tuple(
                PassageRef(
                    chunk=ChunkId(f"{len(self.searches)}-{n}"), source=source, score=1.0 / (n + 1), relevance=0.06
                )
                for n in range(request.k)
            )
        )

    def load_passages(self, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
        return tuple(self._passage(ref) for ref in refs)

    def _passage(self, ref: PassageRef) -> Passage:
        title = "Bread"
        return Passage(ref.chunk, ref.source, title, "bread.md", (title,), LONG, 0, len(LONG))


async def histories(client: Client, run: str) -> AsyncIterator[tuple[str, int, int]]:
    """Yield type, events and bytes of every history of a run."""
    async for execution in client.list_workflows(f'WorkflowId STARTS_WITH "{run}"'):
        described = await client.get_workflow_handle(execution.id, run_id=execution.run_id).describe()
        info = described.raw_description.workflow_execution_info
        yield execution.workflow_type, info.history_length, info.history_size_bytes


async def states(client: Client, run: str) -> AsyncIterator[int]:
    """Yield the size of the state with which each history of the spiral began."""
    async for execution in client.list_workflows(f'WorkflowId = "{run}/spiral"'):
        history = await client.get_workflow_handle(execution.id, run_id=execution.run_id).fetch_history()
        yield history.events[0].workflow_execution_started_event_attributes.input.ByteSize()


@pytest.mark.slow
@pytest.mark.timeout(900 if RUN_ALL else 180)
async def test_long_research_stays_within_its_bounds(serving: Serving) -> None:
    """Fifty cycles of four tasks (five in the short form) end at their limit, in histories that continue as new."""
    numbers = count()

    async def planner(prompt: str) -> dict[str, Any]:
        n = next(numbers)
        tasks = [search(f"Does dough {n} rise in kitchen {n}-{k}, and why {'x' * k}?") for k in range(TASKS)]
        return plans(*tasks)

    chat = ScriptedChat(story(planner=planner))
    limits = RunLimits(
        min_relevance=0.05,
        max_report_revisions=1,
        effort="complex",
        max_cycles=CYCLES,
        subagents=TASKS,
        max_history_events=60 if not RUN_ALL else 4_000,
    )
    async with serving(chat, Endless(KITCHEN)) as stage:
        run = await stage.start(RunRequest(question="How is bread made?", corpora=("kitchen",), limits=limits))
        result = await run.result()
        measured = [entry async for entry in histories(stage.client, run.id)]
        carried = [size async for size in states(stage.client, run.id)]

    assert len(result.information_gain) == CYCLES
    assert result.usage.model_calls == len(chat.asked)
    assert sum(kind == "SubagentWorkflow" for kind, _, _ in measured) == CYCLES * TASKS
    assert len(carried) > 1
    assert all(events < EVENTS and size < BYTES for _, events, size in measured)
    assert max(carried) < STATE
