"""Test memories on a real store: remember, recall, isolation of owners, confirmation, forget."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tenure.algorithms.memory import known_facts
from tenure.algorithms.memory.experience import build_memories
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.knowledge.memory import (
    EpisodeDetails,
    FactDetails,
    ForgetRequest,
    MemoriesRequest,
    Memory,
    MemoryOrigin,
    MemorySearchReply,
    MemorySearchRequest,
    NewMemory,
    ProcedureDetails,
    RememberReply,
    RememberRequest,
    StrategyRecord,
)
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, ResultSection, SourceEntry
from tenure.contracts.run.run import Usage
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.memory import memories
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.schema import SOURCES, SOURCES_SCHEMA
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FOUNDED = "The Bank of England was founded by William Paterson in 1694."
SAME = "In 1694 the Bank of England was founded by William Paterson."


def remember(knowledge: KnowledgeBase, *impressions: NewMemory, owner: str = "") -> RememberReply:
    return knowledge.memories.remember(RememberRequest(memories=impressions, owner=owner, now=NOW))


def reminded(
    knowledge: KnowledgeBase, query: str = FOUNDED, owner: str = "", days: float = 0, occasion: str = ""
) -> MemorySearchReply:
    now = NOW + timedelta(days=days)
    return knowledge.memories.recall(
        MemorySearchRequest(query=query, owner=owner, now=now, used_by=occasion, unrestricted=True)
    )


def all_of(knowledge: KnowledgeBase, owner: str = "") -> tuple[Memory, ...]:
    return knowledge.memories.list_page(MemoriesRequest(owner=owner)).memories


def texts(found: MemorySearchReply) -> list[str]:
    return [one.memory.text for one in found.memories]


def put_sources(uri: str, **addresses: str) -> None:
    """Store a short source under each URI."""
    blank: dict[str, object] = {
        field.name: "" if pa.types.is_string(field.type) else field.type.to_pandas_dtype()(0).item()
        for field in SOURCES_SCHEMA
        if not pa.types.is_list(field.type)
    }
    rows = [
        blank
        | {"id": id, "uri": address, "corpus": "web/r", "text": f"{id} tells {id} about the bank in its own words"}
        for id, address in addresses.items()
    ]
    Store(uri).upsert(SOURCES, pa.Table.from_pylist(rows, schema=SOURCES_SCHEMA), "id")


def said_by(*sources: str, text: str = FOUNDED, run: str = "r") -> NewMemory:
    return NewMemory(text=text, origin=MemoryOrigin(run=RunId(run), sources=tuple(map(SourceId, sources))))


def reporting(text: str, source: str) -> Result:
    """Return the result of a run that found a statement on one page."""
    citation = ResultCitation(source=1, start=0, end=len(text), quote=text)
    claim = ResultClaim(text=text, status="supported", citations=(citation,))
    return Result(
        id=RunId(f"found-{source}"),
        mode="RESEARCH",
        question="Who founded the Bank of England?",
        title="The Bank of England",
        abstract="",
        sections=(ResultSection(topic="The bank", markdown=text, claims=(claim,)),),
        sources=(SourceEntry(n=1, id=SourceId(source), uri=f"https://{source}", title="A page", accessed="2030"),),
        usage=Usage(),
        status="done",
    )


def test_remembering_is_idempotent(knowledge: KnowledgeBase) -> None:
    """A retried activity changes nothing, also with duplicates in one request."""
    said = (NewMemory(text=FOUNDED), NewMemory(text="I prefer short reports."), NewMemory(text=FOUNDED))
    first = remember(knowledge, *said)
    before = all_of(knowledge)

    assert remember(knowledge, *said) == first
    assert all_of(knowledge) == before
    assert first.memories[0] == first.memories[2] and len(before) == 2
    assert first.kinds == ("semantic", "long_term", "semantic")


def test_equal_lessons_of_a_repository_are_one_memory(knowledge: KnowledgeBase) -> None:
    """The runs that learned a lesson are counted once each; another repository or owner has a memory of its own."""

    def learn(run: str, path: str = "/home/ann/parser", owner: str = "") -> str:
        details = ProcedureDetails(task="repository", situation=path, advice="Run it.", repository=path, successes=1)
        lesson = NewMemory(text="In a repository: run it.", origin=MemoryOrigin(run=RunId(run)), details=details)
        [id] = remember(knowledge, lesson, owner=owner).memories
        return id

    first = [learn("one"), learn("two"), learn("two")]
    others = [learn("two", path="/home/ann/lexer"), learn("two", owner="ann")]
    [lesson, _] = sorted(all_of(knowledge), key=lambda memory: -memory.merged_count)

    assert len({*first}) == 1 and len({*first, *others}) == 3
    assert isinstance(lesson.details, ProcedureDetails) and (lesson.id, lesson.origin.run) == (first[0], "two")
    assert (lesson.merged_count, lesson.details.successes) == (2, 2)


def test_important_short_term_memory_is_promoted_at_once(knowledge: KnowledgeBase) -> None:
    """An important short-term memory becomes permanent; others are not recalled as permanent."""
    reply = remember(
        knowledge,
        NewMemory(text="Always remember that the deadline is in March.", kind="short_term"),
        NewMemory(text="the deadline is near", kind="short_term"),
    )

    assert reply.kinds == ("procedural", "short_term")
    assert texts(reminded(knowledge, "deadline March")) == ["Always remember that the deadline is in March."]


def test_episode_is_recalled_by_its_question(knowledge: KnowledgeBase) -> None:
    """The question of a run recalls its episode, and strategies are counted over all episodes of the owner."""
    details = EpisodeDetails(
        question="How do bees dance?", query_type="analytical", strategy="direct", score=0.5, searches=4
    )
    remember(knowledge, *(NewMemory(text=f"run {n}", details=details) for n in range(2)))
    asked = MemorySearchRequest(
        query="How do bees dance?", kinds=("episodic",), now=NOW, include_strategies=True, unrestricted=True
    )
    found = knowledge.memories.recall(asked)

    assert [one.memory.details for one in found.memories] == [details, details]
    assert found.strategies == (
        StrategyRecord(query_type="analytical", strategy="direct", episodes=2, score=1.0, searches=8),
    )


def test_memories_of_runs_can_be_left_out(knowledge: KnowledgeBase) -> None:
    """Neither the episodes of such a run are recalled, nor its results of strategies."""
    details = EpisodeDetails(question="How do bees dance?", query_type="analytical", strategy="direct", score=0.5)
    remember(
        knowledge,
        *(NewMemory(text=f"run {n}", details=details, origin=MemoryOrigin(run=RunId(n))) for n in ("one", "two")),
    )
    asked = MemorySearchRequest(
        query="How do bees dance?", kinds=("episodic",), now=NOW, include_strategies=True, unrestricted=True
    )
    found = knowledge.memories.recall(asked.model_copy(update={"without_runs": (RunId("one"),)}))

    assert [one.memory.origin.run for one in found.memories] == ["two"]
    assert [record.episodes for record in found.strategies] == [1]


@pytest.mark.parametrize(("left_out", "searches"), [(0, 1), (1, 1), (4, 2)])
def test_conditions_without_an_index_are_evaluated_last(
    knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, left_out: int, searches: int
) -> None:
    """The database evaluates them only if most of the nearest memories may not be recalled."""
    search, conditions = Store.search_vectors, []

    def record(*arguments: Any) -> Any:
        conditions.append(arguments[4])
        return search(*arguments)

    near = ["bees dance on the comb", *(f"bees dance on the comb{' again' * n}" for n in range(1, 5)), "bees"]
    runs = [*(["gone"] * left_out), *(["other"] * (len(near) - left_out))]
    impressions = zip(near, runs, strict=True)
    remember(knowledge, *(NewMemory(text=text, origin=MemoryOrigin(run=RunId(run))) for text, run in impressions))
    monkeypatch.setattr(memories, "MAX_NEAREST", 1)
    monkeypatch.setattr(Store, "search_vectors", record)
    asked = MemorySearchRequest(query=near[0], now=NOW, unrestricted=True, without_runs=(RunId("gone"),))
    found = knowledge.memories.recall(asked.model_copy(update={"min_relevance": -9.0}))

    assert texts(found) == [near[left_out]]
    assert ["run" in condition for condition in conditions] == [False, True][:searches]


def test_recency_and_use_rank_equal_memories(knowledge: KnowledgeBase) -> None:
    """A use counts once per run, refreshes a memory, and ranks it before an unused one."""
    [used] = remember(knowledge, NewMemory(text="bees dance on the comb")).memories
    for occasion in ("one", "one", "two"):
        reminded(knowledge, "bees dance comb", days=9, occasion=occasion)
    remember(knowledge, NewMemory(text="comb on the dance bees"))
    found = reminded(knowledge, "bees dance comb", days=30).memories

    assert [(one.memory.id == used, one.memory.use_count) for one in found] == [(True, 2), (False, 0)]
    assert found[0].memory.last_used_at == NOW + timedelta(days=9)


def test_irrelevant_memories_are_not_recalled(knowledge: KnowledgeBase) -> None:
    """A memory needs relevance, however important it is."""
    remember(knowledge, NewMemory(text="Loaves bake for forty minutes.", importance=1.0))

    assert reminded(knowledge, "glaciers carve valleys") == MemorySearchReply()
    with pytest.raises(InvalidSearch, match="list of kinds is empty"):
        reminded(knowledge, " ")


def test_fact_is_recalled_by_its_entities(knowledge: KnowledgeBase) -> None:
    """An entity in the query recalls facts about it, though dozens of memories are more similar."""
    fact = FactDetails(subject="Ghent", predicate="lies on", object="Scheldt")
    crowd = [NewMemory(text=f"where lies what river {n} of where lies") for n in range(61)]
    remember(knowledge, NewMemory(text="Ghent lies where the Scheldt lies.", details=fact), *crowd)

    assert "Ghent lies where the Scheldt lies." in [
        one.memory.text
        for one in knowledge.memories.recall(
            MemorySearchRequest(query="where lies ghent of what river", now=NOW, limit=100, unrestricted=True)
        ).memories
    ]


def test_graph_neighbours_recall_facts(knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path) -> None:
    """A query about one entity recalls a fact about another that shares sentences with it in the corpus."""
    (tmp_path / "texts").mkdir()
    for number in range(2):
        (tmp_path / "texts" / f"{number}.md").write_text("Count Egmont met the painter Jan Massys.\n", encoding="utf-8")
    ingest(tmp_path / "texts")
    fact = FactDetails(subject="Jan Massys", predicate="painted", object="Judith")
    crowd = [NewMemory(text=f"who was Count Egmont {n} of who was", kind="long_term") for n in range(61)]
    remember(knowledge, NewMemory(text="Massys painted who Judith was.", details=fact), *crowd)
    asked = MemorySearchRequest(query="who was Count Egmont", now=NOW, limit=100, min_relevance=0.05, unrestricted=True)
    found = [knowledge.memories.recall(asked.model_copy(update={"corpora": corpora})) for corpora in ((), ("c",))]

    assert ["Massys painted who Judith was." in texts(one) for one in found] == [False, True]


def test_owners_are_isolated(knowledge: KnowledgeBase) -> None:
    """Recall, listing and forgetting affect only the owner."""
    remember(knowledge, NewMemory(text=FOUNDED), owner="ann")

    assert texts(reminded(knowledge, owner="ann")) == [FOUNDED]
    assert (texts(reminded(knowledge)), texts(reminded(knowledge, owner="bob"))) == ([], [])
    assert knowledge.memories.forget(ForgetRequest(owner="bob", all_memories=True)).forgotten == 0
    assert len(all_of(knowledge, "ann")) == 1


def test_single_page_stays_unconfirmed(knowledge: KnowledgeBase, uri: str) -> None:
    """A statement of one page stays unconfirmed, also if repeated; a page of another site confirms it."""
    put_sources(uri, a="https://a.org/1", b="https://blog.a.org/2", c="https://c.net/")
    waiting = remember(knowledge, said_by("a"), said_by("b", run="s"))

    assert waiting.unconfirmed == 2
    assert texts(reminded(knowledge)) == []
    assert remember(knowledge, said_by("c", text=SAME, run="t")).unconfirmed == 0
    [found] = reminded(knowledge).memories
    assert (found.memory.origin.support, set(found.memory.origin.sources)) == (2, {"a", "b", "c"})


def test_fact_from_one_page_stays_unconfirmed(knowledge: KnowledgeBase, uri: str) -> None:
    """A fact that a report cites from one page is confirmed by a run that finds it on another site."""
    put_sources(uri, a="https://a.org/1", c="https://c.net/")
    facts = MemorySearchRequest(query=FOUNDED, kinds=known_facts.FACT_KINDS, now=NOW, corpora=("c",))

    assert remember(knowledge, *build_memories(reporting(FOUNDED, "a"), (), (), ("c",))).unconfirmed == 1
    assert knowledge.memories.recall(facts).memories == ()
    remember(knowledge, *build_memories(reporting(SAME, "c"), (), (), ("c",)))
    [fact] = known_facts.select_known_facts(knowledge.memories.recall(facts).memories)
    assert (fact.text, fact.run, fact.support) == (SAME, "found-c", 2)


def test_missing_source_confirms_nothing(knowledge: KnowledgeBase) -> None:
    """A missing source supports nothing; an episode needs no support."""
    episode = NewMemory(
        text="x", details=EpisodeDetails(question=FOUNDED), origin=MemoryOrigin(sources=(SourceId("gone"),))
    )
    told = said_by("gone", text="The last run found that the Bank of England was founded in 1694.")

    assert remember(knowledge, said_by("gone"), episode, told).unconfirmed == 2
    assert [one.memory.kind for one in reminded(knowledge).memories] == ["episodic"]


def test_deleted_sources_delete_their_memories(knowledge: KnowledgeBase, ingest: Ingest, docs: Path, uri: str) -> None:
    """Deleted files and dropped corpora delete memories that no other source supports."""
    ingest(docs)
    put_sources(uri, x="x.md")
    sources = catalogue.list_source_ids(Store(uri), "c")
    remember(knowledge, *(said_by(source, text=f"{source} says it") for source in sources))
    remember(knowledge, said_by(sources[0], "x", text="Bees dance."), NewMemory(text="I like bees."))
    (docs / "bees.md").unlink()
    ingest(docs)

    assert len(all_of(knowledge)) == len(sources) + 1
    knowledge.corpora.drop("c")
    assert {one.text: one.origin.sources for one in all_of(knowledge)} == {"Bees dance.": ("x",), "I like bees.": ()}


def test_forget_by_id_run_source_and_kind(knowledge: KnowledgeBase, uri: str) -> None:
    """Conditions are combined; a shared source is only removed; an empty request raises an error."""
    put_sources(uri, a="a.md", b="b.md")
    remember(
        knowledge,
        *(said_by("a"), said_by("a", "b", text="The bank stands.", run="s")),
        NewMemory(text="I prefer tea.", kind="long_term", origin=MemoryOrigin(run=RunId("s"))),
    )

    assert knowledge.memories.forget(ForgetRequest(source="a")).forgotten == 1
    assert knowledge.memories.forget(ForgetRequest(run="s", kinds=("semantic",))).forgotten == 0
    assert {one.origin.sources for one in all_of(knowledge)} == {("b",), ()}
    assert knowledge.memories.forget(ForgetRequest(run="s", kinds=("long_term",))).forgotten == 2
    with pytest.raises(InvalidSearch, match="name what to forget"):
        knowledge.memories.forget(ForgetRequest())


def test_pages_of_memories_fit_into_a_reply(knowledge: KnowledgeBase) -> None:
    """Long memories need several pages; each continues after the one before, and all are counted."""
    remember(knowledge, *(NewMemory(text=f"{n} " + "word " * 700, kind="long_term") for n in range(80)))
    seen: list[str] = []
    pages = 0
    while page := knowledge.memories.list_page(MemoriesRequest(after=seen[-1] if seen else "", limit=500)).memories:
        seen += [one.id for one in page]
        pages += 1

    assert len(seen) == len(set(seen)) == 80 and seen == sorted(seen)
    assert pages == 2
