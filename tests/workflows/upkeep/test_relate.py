"""Extraction of a corpus's relations: each passage once, within a budget, and the lookup afterwards."""

import re
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import pytest
from temporalio import workflow

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest, RelateReport, RelateRequest
from tenure.contracts.run.run import RunLimits
from tenure.knowledge.base import KnowledgeBase
from tests.conftest import Serving, Stage
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import slow
from tests.support.worlds import Held, ScriptedChat
from workflows.runtime.task_queues import TENURE_QUEUE
from workflows.upkeep.graph import GraphWorkflow
from workflows.upkeep.relate import RelateWorkflow

PASSAGES = 12
_NUMBERED = re.compile(r'<passage n="(\d+)" source="(\w+)">')


async def reader(prompt: str) -> dict[str, Any]:
    """Return the relations of each passage, and an invented relation."""
    return {
        "passages": [
            {
                "passage": int(number),
                "entities": [{"name": "Ghent", "kind": "place"}],
                "relations": [
                    {
                        "subject": title,
                        "predicate": "lies near",
                        "object": "Ghent",
                        "sentence": f"{title} lies near Ghent.",
                    },
                    {"subject": title, "predicate": "rules", "object": "Bruges", "sentence": f"{title} rules Bruges."},
                ],
            }
            for number, title in _NUMBERED.findall(prompt)
        ]
    }


@pytest.fixture
def knowledge(tmp_path: Path) -> KnowledgeBase:
    """A knowledge base with one corpus of a dozen passages."""
    names = [f"{letter}stad" for letter in "ABCDEFGHIJKL"]
    for name in names:
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n{name} lies near Ghent.\n", encoding="utf-8")
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    paths = tuple(str(tmp_path / f"{name}.md") for name in names)
    knowledge.corpora.ingest(IngestRequest(corpus="towns", paths=paths), lambda progress: None)
    return knowledge


@slow
async def test_the_rest_of_a_reading_may_use_newer_code(
    serving: Serving, knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reading that continues as new asks the server for the current version of the code."""
    asked: list[Any] = []
    continue_as_new = workflow.continue_as_new

    def observe(*arguments: Any, **options: Any) -> NoReturn:
        asked.append(options.get("initial_versioning_behavior"))
        continue_as_new(*arguments, **options)

    monkeypatch.setattr(workflow, "continue_as_new", observe)
    async with serving(ScriptedChat({"relation_extractor": reader}), knowledge) as stage:  # type: ignore[arg-type]
        report = await _relate(stage, limits=RunLimits(max_history_events=1))

    assert report.stop_reason == "complete"
    assert set(asked) == {workflow.ContinueAsNewVersioningBehavior.AUTO_UPGRADE}


async def _relate(stage: Stage, **others: Any) -> RelateReport:
    request = RelateRequest(corpus="towns", passages_per_call=2, **others)
    return await stage.client.execute_workflow(
        RelateWorkflow.run, request, id=f"relate-{uuid4().hex[:8]}", task_queue=TENURE_QUEUE
    )


@slow
async def test_each_passage_is_read_once(serving: Serving, knowledge: KnowledgeBase) -> None:
    """All passages are read, invented relations are rejected, and a second reading makes no model call."""
    chat = ScriptedChat({"relation_extractor": reader})
    async with serving(chat, knowledge) as stage:  # type: ignore[arg-type]
        first = await _relate(stage)
        second = await _relate(stage)
        reply: RelatedReply = await stage.client.execute_workflow(
            GraphWorkflow.run,
            RelatedRequest(entity="Ghent", corpora=("towns",), limit=200),
            id=f"graph-{uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
        )

    assert (first.stop_reason, first.passages, first.unread, first.total) == ("complete", PASSAGES, 0, PASSAGES)
    assert (first.relations, first.refused, first.usage.model_calls) == (PASSAGES, PASSAGES, PASSAGES // 2)
    assert (second.stop_reason, second.passages, second.usage.model_calls) == ("complete", 0, 0)
    assert chat.count("relation_extractor") == PASSAGES // 2
    assert (reply.kind, reply.read_passages, len(reply.relations)) == ("place", PASSAGES, PASSAGES)
    assert {relation.predicate for relation in reply.relations} == {"lies near"}


@slow
async def test_reading_ends_with_its_budget_and_can_be_continued(serving: Serving, knowledge: KnowledgeBase) -> None:
    """A reading makes no more calls than allowed; another one reads the rest, over several histories."""
    chat = ScriptedChat({"relation_extractor": reader})
    async with serving(chat, knowledge) as stage:  # type: ignore[arg-type]
        first = await _relate(stage, limits=RunLimits(max_calls=4))
        asked = chat.count("relation_extractor")
        second = await _relate(stage, limits=RunLimits(max_history_events=1))

    assert first.stop_reason == "calls"
    assert 1 <= asked <= 4
    assert first.usage.model_calls == asked
    assert first.passages == 2 * asked
    assert (second.stop_reason, second.passages, second.unread) == ("complete", PASSAGES - first.passages, 0)
    assert chat.count("relation_extractor") == PASSAGES // 2


@slow
async def test_reading_without_a_model_ends_immediately(serving: Serving, knowledge: KnowledgeBase) -> None:
    """Co-occurrences are known without a model; the report says that no model is configured."""
    async with serving(None, knowledge) as stage:  # type: ignore[arg-type]
        report = await _relate(stage)

    assert (report.stop_reason, report.passages, report.unread) == ("no model", 0, PASSAGES)


@slow
async def test_reading_can_be_queried_and_finished(serving: Serving, knowledge: KnowledgeBase) -> None:
    """A query returns the progress; after a finish no further call starts."""
    line = Held({"passages": []})
    async with serving(ScriptedChat({"relation_extractor": line}), knowledge) as stage:  # type: ignore[arg-type]
        handle = await stage.client.start_workflow(
            RelateWorkflow.run,
            RelateRequest(corpus="towns", passages_per_call=1),
            id=f"relate-{uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
        )
        await line.reached.wait()
        during = await handle.query(RelateWorkflow.reading)
        await handle.signal(RelateWorkflow.finish)
        line.released.set()
        report = await handle.result()

    assert (during.total, during.unread, during.stop_reason) == (PASSAGES, PASSAGES, "")
    assert (report.stop_reason, report.passages, report.relations) == ("stopped", 4, 0)
