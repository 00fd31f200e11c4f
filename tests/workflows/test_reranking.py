"""Reranking in a run: options for every search, and listwise reranking by the model."""

from typing import Any

from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, says, story

pytestmark = slow


def asked(**limits: Any) -> RunRequest:
    """Return a request about the kitchen."""
    bounds = RunLimits(min_relevance=0.0, max_report_revisions=1, **limits)
    return RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=bounds)


def passage(prompt: str, rank: int) -> str:
    """Return the text of the passage of a rank; the prompt orders passages by document."""
    return prompt.split(f'<passage n="{rank}"')[1].split("\n")[1]


async def test_model_reranks_search_results(serving: Serving) -> None:
    """After each search the model chooses the first passages of the writer; the others keep their order."""
    chosen: set[str] = set()

    async def last_first(prompt: str) -> dict[str, Any]:
        count = prompt.count("<passage n=")
        chosen.add(passage(prompt, count))
        return {"order": [count, 99]}

    chat, knowledge = ScriptedChat(story(reranker=last_first)), MemoryKnowledge(KITCHEN)
    async with serving(chat, knowledge) as stage:
        result = await (await stage.start(asked(rerank_listwise=True))).result()

    written = next(prompt for role, prompt in chat.asked if role == "report_writer")
    assert chat.count("reranker") == len(knowledge.searches)
    assert passage(written, 1) in chosen
    assert result.usage.by_role["reranker"].model_calls == chat.count("reranker")


async def test_listwise_reranking_is_off_by_default(serving: Serving) -> None:
    """By default the knowledge base alone ranks the passages."""
    chat = ScriptedChat(story(reranker=says({"order": [1]})))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        await (await stage.start(asked())).result()

    assert chat.count("reranker") == 0


async def test_reranking_costs_budget(serving: Serving) -> None:
    """When the budget is exhausted the order of the search stays, and the run continues."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        result = await (await stage.start(asked(rerank_listwise=True, max_calls=1))).result()

    assert len(chat.asked) <= 1
    assert result.sections


async def test_every_search_has_the_reranking_options_of_the_run(serving: Serving) -> None:
    """Ages of documents are counted from the day of the run, which is the same in a replay."""
    wanted = RerankOptions(diversity=0.2, recency=RecencyOptions(half_life_days=30))
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(ScriptedChat(story()), knowledge) as stage:
        await (await stage.start(asked(rerank=wanted))).result()

    stages = [search.rerank for search in knowledge.searches]
    assert stages
    assert all(one.diversity == 0.2 and one.recency and one.recency.as_of for one in stages)
    assert len({one.recency.as_of for one in stages if one.recency}) <= 2


async def test_run_without_reranking_options_requests_none(serving: Serving) -> None:
    """Without reranking options searches request none."""
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(ScriptedChat(story()), knowledge) as stage:
        await (await stage.start(asked())).result()

    assert {search.rerank == SearchRequest(query="q", corpora=("c",)).rerank for search in knowledge.searches} == {True}
