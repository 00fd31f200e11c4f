"""Test the reranking options of a run."""

from typing import Any

from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, story

pytestmark = slow


def asked(**limits: Any) -> RunRequest:
    """Return a request about the kitchen."""
    bounds = RunLimits(min_relevance=0.0, max_report_revisions=1, **limits)
    return RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=bounds)


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
