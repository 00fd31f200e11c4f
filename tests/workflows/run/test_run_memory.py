"""Runs that recall memories of earlier runs and store new ones."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHandle

from tenure.algorithms.control.run_notes import PREFERENCE_ROLES
from tenure.algorithms.memory.scoring import classify_memory
from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.knowledge.memory import (
    ConsolidationRequest,
    MemoriesRequest,
    Memory,
    MemorySearchReply,
    MemorySearchRequest,
    RememberReply,
    RememberRequest,
    ScoredMemory,
    WriteMemoryRequest,
)
from tenure.contracts.research.learning import InheritedPassage, InheritReply
from tenure.contracts.research.trace import TracedMemory
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import InvalidSearch
from tenure.models.chat import ChatModel
from tenure.roles.dossier_prompting import PERSONAL_RULE
from tenure.roles.prompting import PREFERENCES_RULE
from tests.conftest import Serving, Stage
from tests.knowledge.memory.test_origins import put_sources
from tests.knowledge.word_vectors import WordVectors
from tests.report.traces import trace_run
from tests.support.tiers import exhaustive, slow
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    Held,
    KnownMemories,
    MemoryKnowledge,
    ScriptedChat,
    in_turn,
    plans,
    search,
    story,
)
from tests.workflows.run.test_agent import until_history

LIMITS = RunLimits(min_relevance=0.05, max_report_revisions=0, max_sections=1)
REQUEST = RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=LIMITS, memory=True)
RELATED = "How long does it take until bread and cheese are made?"


async def three_searches(prompt: str) -> dict[str, Any]:
    """Plan searches that no cycle has executed yet, up to the allowed number."""
    cycle = re.findall(r"Plan cycle (\d+)", prompt)[-1]
    words = ("flour", "rennet", "yeast")
    return plans(*(search(f"{word} of {cycle} {word}{cycle}") for word in words))


GO_ON = {"needs_more_research": True, "reasoning": "There is more.", "key_factors": []}


def remembered(knowledge: MemoryKnowledge) -> MemorySearchReply:
    """Return the memories of a run as a search finds them."""
    [request] = knowledge.memories.kept
    memories = (
        Memory(
            id=str(n),
            kind=classify_memory(one),
            text=one.text,
            created_at=request.now,
            origin=one.origin,
            details=one.details,
        )
        for n, one in enumerate(request.memories)
    )
    return MemorySearchReply(memories=tuple(ScoredMemory(memory=memory, score=1, relevance=0.8) for memory in memories))


async def memory_of(stage: Stage, run: WorkflowHandle[Any, Result]) -> TracedMemory | None:
    """Return the memory part of a run's trace."""
    return (await trace_run(stage.client, run.id)).memory


def left(run: str, knowledge: MemoryKnowledge) -> InheritReply:
    """Return all passages that a run has accepted."""
    chunks = sorted(chunk for accepted_by, chunk in knowledge.accepted if accepted_by == run)
    passages = (
        PassageRef(chunk=ChunkId(chunk), source=SourceId(chunk.split(":")[0]), score=0, relevance=0.5)
        for chunk in chunks
    )
    return InheritReply(
        passages=tuple(InheritedPassage(passage=one, query="bread", run=RunId(run)) for one in passages),
        unchanged=(RunId(run),),
    )


class Forgetful(KnownMemories):
    """A memory that fails until a test has stored something."""

    def recall(self, request: MemorySearchRequest) -> MemorySearchReply:
        """Fail permanently if nothing is stored."""
        found = super().recall(request)
        if not found.memories:
            raise InvalidSearch("the query or the list of kinds is empty")
        return found


async def two_related_runs(serving: Serving, chat: ChatModel | None) -> None:
    """Run a question, and a related one with and without the memory of the first."""
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

    assert any(note.startswith("Earlier runs could not be recalled") for note in begun.notes)
    assert result.usage.searches < alone.usage.searches
    # The scripted writer cites the first two passages of its dossier, whatever the run has found.
    assert result.sources and alone.sources
    assert any(first.id in note and "reduced effort" in note for note in result.notes)
    assert traced is not None
    assert [one.run for one in traced.related] == [first.id]
    assert len(traced.passages) == len(knowledge.inherited.passages)
    assert traced.kept == tuple(one.text for one in knowledge.memories.kept[1].memories)
    assert traced.facts
    assert {fact.text for fact in traced.facts} <= {one.text for one in knowledge.memories.kept[0].memories}
    assert len(knowledge.memories.asked) == 3


@pytest.mark.parametrize(("question", "is_recalled"), [(REQUEST.question, True), ("Bread and cheese, please", False)])
async def test_memory_is_searched_while_a_question_is_routed(
    serving: Serving, question: str, is_recalled: bool
) -> None:
    """A plain question recalls earlier runs before the router has answered, but no request for a program does."""
    route = Held({"mode": "RESEARCH", "complexity": "simple", "query_type": "factual", "reason": "so"})
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(ScriptedChat(story(router=route)), knowledge) as stage:
        run = await stage.start(REQUEST.model_copy(update={"question": question}))
        await route.reached.wait()
        done = "recall_experience" if is_recalled else "search_passages"
        await until_history(stage.client.get_workflow_handle(run.id), done)
        before = len(knowledge.memories.asked)
        route.released.set()
        result = await run.result()

    assert (before > 0) is is_recalled
    assert result.status == "done" and len(knowledge.memories.asked) == 2


@slow
async def test_related_run_searches_less_and_finds_the_same(serving: Serving) -> None:
    """A second run starts with the findings of the first, makes fewer searches, and says so in report and trace.

    The recall of the first run fails, which costs it a note and does not prevent it from storing its memories.
    """
    await two_related_runs(serving, ScriptedChat(story(planner=three_searches)))


@exhaustive
async def test_related_run_searches_less_without_a_model(serving: Serving) -> None:
    """The same holds without a model."""
    await two_related_runs(serving, None)


@slow
@pytest.mark.parametrize(("changes", "left_out"), [({}, True), ({"fresh": True}, False), ({"has_model": False}, False)])
async def test_a_repeated_question_leaves_its_own_memories_out(
    serving: Serving, changes: dict[str, Any], left_out: bool
) -> None:
    """With a model whose answers may be cached, the prompts of a repeated run are those of the first one."""
    knowledge = MemoryKnowledge(KITCHEN, memories=KnownMemories())
    limits = LIMITS.model_copy(update={"has_model": True, **changes})
    request = REQUEST.model_copy(update={"limits": limits})
    chat = ScriptedChat(story())
    async with serving(chat, knowledge) as stage:
        first = await stage.start(request)
        await first.result()
        before = len(chat.asked)
        knowledge.memories.recollection = remembered(knowledge)
        knowledge.inherited = left(first.id, knowledge)
        second = await stage.start(request)
        result = await second.result()
        traced = await memory_of(stage, second)

    assert traced is not None
    assert bool(traced.related) != left_out
    assert any(note.startswith("The same question was asked") and first.id in note for note in result.notes) == left_out
    assert (sorted(chat.asked[:before]) == sorted(chat.asked[before:])) == left_out


class StoredMemories(KnownMemories):
    """The memories of a real knowledge base."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        """Remember and recall in `knowledge`."""
        super().__init__()
        self._knowledge = knowledge

    def recall(self, request: MemorySearchRequest) -> MemorySearchReply:
        """Recall stored memories."""
        self.asked.append(request)
        return self._knowledge.memories.recall(request)

    def count_uses(self, replies: Sequence[MemorySearchReply], request: MemorySearchRequest) -> None:
        """Count the uses of stored memories."""
        self._knowledge.memories.count_uses(replies, request)

    def remember(self, request: RememberRequest) -> RememberReply:
        """Store memories."""
        self.kept.append(request)
        return self._knowledge.memories.remember(request)


@slow
async def test_no_sentence_of_one_corpus_reaches_a_run_on_another(serving: Serving, tmp_path: Path) -> None:
    """Facts of a run are recalled by a run on the same corpus, with their origin, and by none on another corpus."""
    uri = str(tmp_path / "knowledge")
    put_sources(uri, **dict.fromkeys(KITCHEN, "kitchen"))
    knowledge = MemoryKnowledge(KITCHEN, memories=StoredMemories(KnowledgeBase(uri, WordVectors())))
    related = REQUEST.model_copy(update={"question": "How long is the bread baked, and what is the cheese made of?"})
    runs = (REQUEST, related, related.model_copy(update={"corpora": ("library",)}))
    async with serving(None, knowledge) as stage:
        handles = []
        for request in runs:
            handles.append(await stage.start(request))
            await handles[-1].result()
        first, same, other = [await memory_of(stage, handle) for handle in handles]
        results = [await handle.result() for handle in handles]

    assert [request.corpora for request in knowledge.memories.asked] == [("kitchen",)] * 4 + [("library",)] * 2
    assert same and same.facts and {fact.corpora for fact in same.facts} == {("kitchen",)}
    assert {fact.run for fact in same.facts} == {handles[0].id}
    assert any(f"({handles[0].id}, from kitchen)" in note for note in results[1].notes)
    assert not (other and (other.facts or other.related or other.advice or other.queries))
    assert handles[0].id not in str(results[2].notes)
    assert first is not None and not first.facts


OWNED = "The bread is baked by the Orion team."


def owning() -> KnownMemories:
    """Return memories with the statement of a person."""
    owned = Memory(id="ab", kind="semantic", text=OWNED, created_at=datetime(2030, 1, 2, tzinfo=UTC))
    scored = ScoredMemory(memory=owned, score=1, relevance=0.8)
    return KnownMemories(MemorySearchReply(memories=(scored,)))


async def test_the_statement_of_a_person_is_cited_in_the_report(serving: Serving) -> None:
    """The writer reads a statement of a person as such and can cite it, even if no document concerns the question."""

    async def write(prompt: str) -> str:
        numbers = re.findall(rf'<passage n="(\d+)">\n{OWNED}', prompt)
        said = f"By the statement of a person, {OWNED[0].lower()}{OWNED[1:-1]}"
        return f"# The bakers\nAnswer: Orion team\n\n{said} [{numbers[0]}]."

    knowledge = MemoryKnowledge({}, memories=owning())
    chat = ScriptedChat(story(report_writer=write))
    question = "Who bakes the bread?"
    limits = LIMITS.model_copy(update={"has_model": True, "effort": "simple"})
    async with serving(chat, knowledge) as stage:
        run = await stage.start(REQUEST.model_copy(update={"question": question, "limits": limits}))
        result = await run.result()
        traced = await memory_of(stage, run)

    prompt = next(prompt for role, prompt in chat.asked if role == "report_writer")
    assert '<document title="Statement of a person, 2030-01-02"' in prompt and PERSONAL_RULE in prompt
    assert result.status == "done"
    assert [claim.citations[0].quote for claim in result.abstract_claims] == [OWNED]
    assert result.short_answer and result.short_answer.text == "Orion team"
    assert result.sources[0].uri == "memory:ab"
    assert any("1 statement of a person" in note for note in result.notes)
    assert traced and [one.text for one in traced.personal] == [OWNED]


PREFERENCES = ("We use metric units", "Dates as in ISO 8601")


def preferring() -> MemoryKnowledge:
    """Return a knowledge base whose memories are two preferences."""
    now = datetime(2030, 1, 1, tzinfo=UTC)
    stored = tuple(Memory(id=text, kind="preference", text=text, created_at=now) for text in PREFERENCES)
    return MemoryKnowledge(dict(KITCHEN), memories=KnownMemories(MemorySearchReply(preferences=stored)))


@slow
async def test_preferences_are_given_to_planner_and_writers(serving: Serving) -> None:
    """Every prompt that plans or writes the report contains the preferences; report and trace name them."""
    chat = ScriptedChat(story(planner=in_turn(plans(search("Which mould is in blue cheese?")), FINISH)))
    limits = LIMITS.model_copy(update={"has_model": True, "effort": "complex"})
    async with serving(chat, preferring()) as stage:
        run = await stage.start(REQUEST.model_copy(update={"limits": limits}))
        result = await run.result()
        traced = await memory_of(stage, run)

    prompts = {role: prompt for role, prompt in reversed(chat.asked)}
    told_to = {role for role, prompt in prompts.items() if PREFERENCES_RULE in prompt and PREFERENCES[0] in prompt}
    assert told_to == prompts.keys() & PREFERENCE_ROLES
    assert told_to >= {"planner", "outliner", "report_writer", "report_reviewer"}
    note = "Preferences given to the models that planned and wrote this: “We use metric units”; “Dates as in ISO 8601”."
    assert note in result.notes
    assert traced and traced.preferences == PREFERENCES


async def test_preferences_are_not_said_to_be_applied_without_a_model(serving: Serving) -> None:
    """A report of quotes names the preferences, and says that they changed nothing; without memory none are known."""
    knowledge = preferring()
    async with serving(None, knowledge) as stage:
        result = await (await stage.start(REQUEST)).result()
        alone = await (await stage.start(REQUEST.model_copy(update={"memory": False}))).result()

    assert any(note.startswith("Preferences known but not applied, since no model wrote") for note in result.notes)
    assert any(PREFERENCES[1] in note for note in result.notes)
    assert not any("references" in note for note in alone.notes)
    assert sorted(request.include_preferences for request in knowledge.memories.asked) == [False, True]


@slow
async def test_a_short_term_memory_that_two_runs_use_becomes_permanent(serving: Serving, tmp_path: Path) -> None:
    """Runs recall the statement of a person as the owner's; consolidation keeps it after two of them."""
    store = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    now = datetime.now(UTC)
    text = "The bread and the cheese are made in the old cellar for now."
    reply = store.memories.write(WriteMemoryRequest(text=text, now=now))
    knowledge = MemoryKnowledge(KITCHEN, memories=StoredMemories(store))
    kinds = [reply.memory.kind if reply.memory else None]
    async with serving(None, knowledge) as stage:
        for _ in range(2):
            result = await (await stage.start(REQUEST)).result()
            store.memories.consolidate(ConsolidationRequest(step="promote", now=now), lambda progress: None)
            kinds += [one.kind for one in store.memories.list_page(MemoriesRequest()).memories if one.text == text]

    assert kinds == ["short_term", "short_term", "long_term"]
    assert any(note.startswith("Recalled 1 statement of a person") and text in note for note in result.notes)
