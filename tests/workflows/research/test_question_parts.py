"""Test parts of a question that the outline lacks, on a run with a model."""

import re

from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, build_report, says, story

QUESTION = "How is bread made, and who pays the miller?"
TOPICS = {"topics": [{"heading": "Bread", "question": "How is bread made?", "answer": ""}]}


async def test_a_part_that_the_plan_lacks_is_searched_and_reported(serving: Serving) -> None:
    """The part is searched for, shown to the writer, and named as not known if no sentence or review speaks of it."""
    written = build_report({"Bread": "Bread takes time [1]."}, answer="It takes time [1].")
    chat = ScriptedChat(story(outliner=says(TOPICS), report_writer=says(written), report_reviewer=says("DONE")))
    knowledge = MemoryKnowledge(KITCHEN)
    limits = RunLimits(min_relevance=0.05, max_report_revisions=0, has_model=True, effort="moderate")
    async with serving(chat, knowledge) as stage:
        run = await stage.start(RunRequest(question=QUESTION, corpora=("kitchen",), limits=limits))
        result = await run.result()

    assert "who pays the miller" in [search.query for search in knowledge.searches]
    prompt = next(prompt for role, prompt in chat.asked if role == "report_writer")
    assert re.search(r"without a section.*\n- who pays the miller", prompt)
    assert result.synthesis is not None
    gaps = [claim.text for claim in result.synthesis.claims if claim.kind == "gap"]
    assert gaps == ["No sentence of this report speaks of this part of the question: “who pays the miller”."]
