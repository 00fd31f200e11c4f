"""Sub-questions of a run: layer by layer, later ones with the answers of earlier ones."""

from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.tiers import exhaustive, slow
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, Source, in_turn, says, story
from workflows.run.agent import AgentWorkflow

pytestmark = slow

LIMITS = RunLimits(min_relevance=0.05, max_report_revisions=0)
LIBRARY = {
    "dune": Source(uri="library/dune.md", title="Dune", text="Frank Herbert wrote Dune after years of reading."),
    "herbert": Source(
        uri="library/herbert.md",
        title="Herbert",
        text="Frank Herbert was born in Tacoma near the sea.\n\nThe town of Tacoma has a port.",
    ),
}
SUB_QUESTIONS = ["Which bread is sour?", "Which cheese is blue?", "What do that bread and that cheese need?"]


def asked(question: str) -> RunRequest:
    return RunRequest(question=question, corpora=("kitchen",), limits=LIMITS)


async def test_a_later_question_contains_the_earlier_answer(serving: Serving) -> None:
    """Offline, the name found for the first part is inserted into the second before its search."""
    knowledge = MemoryKnowledge(LIBRARY)
    async with serving(None, knowledge) as stage:
        result = await (await stage.start(asked("Who wrote Dune, and where was he born?"))).result()

    queries = [search.query for search in knowledge.searches]
    assert queries.index("Who wrote Dune?") < queries.index("Where was Frank Herbert born?")
    assert "Where was he born?" not in queries
    assert result.usage.by_role["question_rewriter"].calls == 1


async def test_a_layer_is_searched_before_the_next_one(serving: Serving) -> None:
    """A question that needs two answers is rewritten once, with the passages found for both."""
    knowledge = MemoryKnowledge(KITCHEN)
    decomposed = {"sub_questions": SUB_QUESTIONS, "dependencies": [{"question": 3, "needs": [1, 2]}]}
    script = story(
        decomposer=says(decomposed), question_rewriter=says({"question": "What do rye bread and blue cheese need?"})
    )
    chat = ScriptedChat(script)
    async with serving(chat, knowledge) as stage:
        await (await stage.start(asked("What do sour bread and blue cheese need?"))).result()

    (prompt,) = [prompt for role, prompt in chat.asked if role == "question_rewriter"]
    queries = [search.query for search in knowledge.searches]
    assert "Rye bread" in prompt and "Blue cheese" in prompt
    assert "- Which bread is sour?\n- Which cheese is blue?" in prompt
    assert max(map(queries.index, SUB_QUESTIONS[:2])) < queries.index("What do rye bread and blue cheese need?")
    assert SUB_QUESTIONS[2] not in queries
    (outline,) = [prompt for role, prompt in chat.asked if role == "outliner"]
    assert "What do rye bread and blue cheese need?" in outline


async def test_a_dependency_cycle_is_returned_to_the_model(serving: Serving) -> None:
    """The model is shown the cycle and corrects it; the run continues."""
    circle = [{"question": 2, "needs": [3]}, {"question": 3, "needs": [2]}]
    answers = in_turn({"sub_questions": SUB_QUESTIONS, "dependencies": circle}, {"sub_questions": SUB_QUESTIONS[:2]})
    chat = ScriptedChat(story(decomposer=answers))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(asked("What do sour bread and blue cheese need?"))).result()

    first, again = [prompt for role, prompt in chat.asked if role == "decomposer"]
    assert "2 → 3 → 2" in again and "2 → 3 → 2" not in first
    assert result.status == "done" and not result.fallbacks


@exhaustive
async def test_strong_patterns_decide_the_type_of_a_question(serving: Serving) -> None:
    """Two patterns overrule the model, one does not; the run's state says which type applies."""
    async with serving(ScriptedChat(story()), MemoryKnowledge(KITCHEN)) as stage:
        sure = await stage.start(asked("Should we bake bread, and is it worth it?"))
        unsure = await stage.start(asked("Compare bread and cheese"))
        await sure.result()
        await unsure.result()

        assert (await sure.query(AgentWorkflow.state)).query_type == "evaluative"
        assert (await unsure.query(AgentWorkflow.state)).query_type == "factual"
