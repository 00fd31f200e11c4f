"""Runs that are reminded of earlier ones, and leave to later ones what they have learned."""

import re
from typing import Any

from temporalio.client import WorkflowHandle

from tenure.algorithms.memory.scoring import kind_of
from tenure.cli.session.history import histories
from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.knowledge.memory import Memory, Recollected, Recollecting, Recollection
from tenure.contracts.research.learning import Inheritance, Inherited
from tenure.contracts.research.trace import TracedMemory
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Limits, RunRequest
from tenure.knowledge.store.errors import InvalidSearch
from tenure.models.chat import ChatModel
from tenure.report.trace.story import story as told
from tests.conftest import Serving, Stage, slow_form
from tests.worlds import KITCHEN, KnownMemories, MemoryKnowledge, ScriptedChat, plans, says, search, story

LIMITS = Limits(min_relevance=0.05, max_reflexions=0, max_revisions=0, max_sections=1)
REQUEST = RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=LIMITS, memory=True)
RELATED = "How long does it take until bread and cheese are made?"


async def three_searches(prompt: str) -> dict[str, Any]:
    """Plan what no cycle has looked for yet, as much as there may be."""
    cycle = re.findall(r"Plan cycle (\d+)", prompt)[-1]
    words = ("flour", "rennet", "yeast")
    return plans(*(search(f"{word} of {cycle} {word}{cycle}") for word in words))


GO_ON = {"needs_more_research": True, "reasoning": "There is more.", "key_factors": []}


def remembered(knowledge: MemoryKnowledge) -> Recollection:
    """Return what a run has left as what comes to mind."""
    [request] = knowledge.memories.kept
    memories = (
        Memory(id=str(n), kind=kind_of(one), text=one.text, made=request.now, origin=one.origin, details=one.details)
        for n, one in enumerate(request.impressions)
    )
    return Recollection(
        memories=tuple(
            Recollected(memory=memory, score=1, relevance=0.8, freshness=1, weight=1, practice=1) for memory in memories
        )
    )


async def memory_of(stage: Stage, run: WorkflowHandle[Any, Result]) -> TracedMemory | None:
    """Return what the trace of a run tells of memory."""
    return told(await histories(stage.client, run.id)).memory


def left(run: str, knowledge: MemoryKnowledge) -> Inherited:
    """Return all that a run has accepted."""
    chunks = sorted(chunk for accepted_by, chunk in knowledge.accepted if accepted_by == run)
    passages = (
        PassageRef(chunk=ChunkId(chunk), source=SourceId(chunk.split(":")[0]), score=0, relevance=0.5)
        for chunk in chunks
    )
    return Inherited(
        passages=tuple(Inheritance(passage=one, query="bread", run=RunId(run)) for one in passages),
        unchanged=(RunId(run),),
    )


class Forgetful(KnownMemories):
    """A memory that cannot be asked before a test has laid something down."""

    def recollect(self, request: Recollecting) -> Recollection:
        """Fail for good where there is nothing."""
        found = super().recollect(request)
        if not found.memories:
            raise InvalidSearch("there is nothing to be reminded of")
        return found


async def two_related_runs(serving: Serving, chat: ChatModel | None) -> None:
    """Ask a question, and a related one with and without the memory of the first."""
    knowledge = MemoryKnowledge(KITCHEN, memories=Forgetful())
    related = REQUEST.model_copy(update={"question": RELATED})
    async with serving(chat, knowledge) as stage:
        first = await stage.start(REQUEST)
        begun = await first.result()
        alone = await (await stage.start(related.model_copy(update={"memory": False}))).result()
        knowledge.memories.recollection = remembered(knowledge)
        knowledge.inherited = left(first.id, knowledge)
        second = await stage.start(related)
        result = await second.result()
        traced = await memory_of(stage, second)

    assert any(note.startswith("Earlier runs could not be remembered") for note in begun.notes)
    assert result.usage.searches < alone.usage.searches
    assert {source.id for source in result.sources} >= {source.id for source in alone.sources}
    assert any(first.id in note and "less before it" in note for note in result.notes)
    assert traced is not None
    assert [one.run for one in traced.related] == [first.id]
    assert len(traced.passages) == len(knowledge.inherited.passages)
    assert traced.kept == tuple(one.text for one in knowledge.memories.kept[1].impressions)
    assert traced.facts
    assert {fact.text for fact in traced.facts} <= {one.text for one in knowledge.memories.kept[0].impressions}
    assert [request.occasion for request in knowledge.memories.asked] == [first.id] * 2 + [second.id] * 2


async def test_a_related_run_searches_less_and_finds_no_less(serving: Serving) -> None:
    """A second run begins with what the first has accepted, makes fewer searches, and says so in report and trace.

    The first one's memory cannot be asked, which costs it a note and keeps it from leaving nothing.
    """
    await two_related_runs(serving, ScriptedChat(story(planner=three_searches, decider=says(GO_ON))))


@slow_form
async def test_the_twins_alone_search_less_as_well(serving: Serving) -> None:
    """The same holds offline."""
    await two_related_runs(serving, None)
