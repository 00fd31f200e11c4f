"""Test the progress that a run reports during and after its research."""

from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    MemoryKnowledge,
    ScriptedChat,
    in_turn,
    plans,
    search,
    story,
)
from workflows.run.agent import AgentWorkflow

pytestmark = slow

WINE = {"query": "How is wine made?", "target_outline_topic": "Wine"}


async def test_progress_shows_the_current_cycle_and_outline(serving: Serving) -> None:
    """Cycles are counted, and a topic that was added and removed again is not among the topics."""
    planner = in_turn(
        plans({"action": "ADD_TO_OUTLINE", **WINE}, search("How long does the dough rise?")),
        plans({"action": "DROP_TOPIC", **WINE}, search("What does mould need?", "Cheese")),
        FINISH,
    )
    chat = ScriptedChat(story(planner=planner))
    limits = RunLimits(min_relevance=0.05, max_report_revisions=0, max_cycles=3)
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(RunRequest(question="What of bread and cheese?", corpora=("kitchen",), limits=limits))
        result = await run.result()
        progress = await run.query(AgentWorkflow.progress)

    assert progress.cycle == len(result.information_gain) == 2
    assert [topic.topic for topic in progress.topics] == ["Bread", "Cheese"]
