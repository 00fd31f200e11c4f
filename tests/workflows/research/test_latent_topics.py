"""Test latent topics: groups of passages that the outline lacks, from the search for the whole question."""

from dataclasses import dataclass

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.spiral import AnalysisReply, AnalysisRequest
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.worlds import FINISH, KITCHEN, MemoryKnowledge, ScriptedChat, Source, in_turn, plans, says, story
from workflows.research.cycle_phases.analyze import merge_groups

HONEY = {
    f"honey{n}": Source(f"honey{n}.md", f"Jar {n}", f"Golden honey of bees stays sweet in {word}.")
    for n, word in enumerate(("spring", "summer", "autumn"))
}
NAMED = {"topics": [{"group": 1, "heading": "Honey", "question": "How does honey stay sweet?"}]}
ADDED = {
    "id": "a1",
    "action": "ADD_TO_OUTLINE",
    "query": "How does honey stay sweet?",
    "target_outline_topic": "Honey",
    "passage": 0,
    "depends_on": [],
    "expected_output": "",
}


@dataclass
class Grouped(MemoryKnowledge):
    """A knowledge base whose first analysis finds a group of passages that no topic covers."""

    def analyze_candidates(self, request: AnalysisRequest) -> AnalysisReply:
        """Group the passages on honey before the first cycle."""
        reply = super().analyze_candidates(request)
        honey = tuple(one.passage for one in request.candidates if one.passage.source.startswith("honey"))
        return reply if request.cycle else reply.model_copy(update={"latent": (honey,)})


async def test_a_group_of_the_first_search_becomes_a_section(serving: Serving) -> None:
    """The group is named after the first cycle, the planner reads the name, and the topic that it adds is written."""
    chat = ScriptedChat(story(topic_namer=says(NAMED), planner=in_turn(plans(ADDED), FINISH)))
    limits = RunLimits(min_relevance=0.05, max_report_revisions=0, has_model=True, effort="complex", max_cycles=3)
    async with serving(chat, Grouped(KITCHEN | HONEY)) as stage:
        request = RunRequest(question="How are bread and sweet honey made?", corpora=("kitchen",), limits=limits)
        result = await (await stage.start(request)).result()

    prompts = {role: prompt for role, prompt in reversed(chat.asked)}
    assert "Group 1: passages 1 to 3" in prompts["topic_namer"]
    assert "- Honey (3 passages)" in prompts["planner"]
    assert "Honey" in [section.topic for section in result.sections]
    assert "At most 7 topics" in prompts["outliner"]


async def test_a_moderate_effort_names_no_group(serving: Serving) -> None:
    """Its outline leaves no room on purpose, so that an outline with few topics costs no further call."""
    chat = ScriptedChat(story())
    limits = RunLimits(min_relevance=0.05, max_report_revisions=0, has_model=True, effort="moderate")
    async with serving(chat, Grouped(KITCHEN | HONEY)) as stage:
        request = RunRequest(question="How are bread and sweet honey made?", corpora=("kitchen",), limits=limits)
        await (await stage.start(request)).result()

    assert chat.count("topic_namer") == 0


def test_groups_with_a_common_passage_are_one() -> None:
    """A later group that contains a passage of an earlier one is left out."""
    a, b, c = (PassageRef(chunk=ChunkId(name), source=SourceId("s"), score=1, relevance=1) for name in "abc")

    assert list(merge_groups([(a, b)], [(b, c), (c,)])) == [(a, b)]
    assert list(merge_groups([(a,)], [(b, c)])) == [(a,), (b, c)]
