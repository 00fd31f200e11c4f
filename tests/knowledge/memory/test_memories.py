"""Memories on a real store: keeping, being reminded, separation of owners, hygiene, forgetting."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import lancedb
import pyarrow as pa
import pytest

from tenure.algorithms.memory import known_facts
from tenure.algorithms.memory.experience import impressions
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.knowledge.memory import (
    Episode,
    Fact,
    ForgetRequest,
    Impression,
    MemoriesRequest,
    Memory,
    Origin,
    Recollecting,
    Recollection,
    RememberReply,
    RememberRequest,
    StrategyRecord,
)
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, ResultSection, SourceEntry
from tenure.contracts.run.run import Usage
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.schema import SOURCES, SOURCES_SCHEMA, memories_table
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FOUNDED = "The Bank of England was founded by William Paterson in 1694."
SAME = "In 1694 the Bank of England was founded by William Paterson."


def remember(knowledge: KnowledgeBase, *impressions: Impression, owner: str = "") -> RememberReply:
    return knowledge.memories.remember(RememberRequest(impressions=impressions, owner=owner, now=NOW))


def reminded(
    knowledge: KnowledgeBase, query: str = FOUNDED, owner: str = "", days: float = 0, occasion: str = ""
) -> Recollection:
    now = NOW + timedelta(days=days)
    return knowledge.memories.recollect(Recollecting(query=query, owner=owner, now=now, occasion=occasion))


def all_of(knowledge: KnowledgeBase, owner: str = "") -> tuple[Memory, ...]:
    return knowledge.memories.page(MemoriesRequest(owner=owner)).memories


def texts(found: Recollection) -> list[str]:
    return [one.memory.text for one in found.memories]


def put_sources(uri: str, **addresses: str) -> None:
    """Store a source of a few words of its own at each address."""
    blank: dict[str, object] = {
        field.name: "" if pa.types.is_string(field.type) else 0 for field in SOURCES_SCHEMA if field.name != "pages"
    }
    rows = [
        blank | {"id": id, "uri": address, "corpus": "web", "text": f"{id} tells {id} about the bank in its own words"}
        for id, address in addresses.items()
    ]
    Store(uri).merge(SOURCES, pa.Table.from_pylist(rows, schema=SOURCES_SCHEMA), "id")


def said_by(*sources: str, text: str = FOUNDED, run: str = "r") -> Impression:
    return Impression(text=text, origin=Origin(run=RunId(run), sources=tuple(map(SourceId, sources))))


def reporting(text: str, source: str) -> Result:
    """Return the result of a run that has found a statement on one page."""
    citation = ResultCitation(source=1, start=0, end=len(text), quote=text)
    claim = ResultClaim(text=text, status="supported", citations=(citation,))
    return Result(
        id=RunId(f"found-{source}"),
        mode="RESEARCH",
        question="Who founded the Bank of England?",
        title="The Bank of England",
        abstract="",
        sections=(ResultSection(topic="The bank", markdown=text, claims=(claim,)),),
        sources=(SourceEntry(n=1, id=source, uri=f"https://{source}", title="A page", accessed="2030"),),
        usage=Usage(),
        status="done",
    )


def test_remembering_again_leaves_the_same_memories(knowledge: KnowledgeBase) -> None:
    """A repeated activity changes nothing, also where the same is said twice at once."""
    said = (Impression(text=FOUNDED), Impression(text="I prefer short reports."), Impression(text=FOUNDED))
    first = remember(knowledge, *said)
    before = all_of(knowledge)

    assert remember(knowledge, *said) == first
    assert all_of(knowledge) == before
    assert first.memories[0] == first.memories[2] and len(before) == 2
    assert first.kinds == ("semantic", "long_term", "semantic")


def test_what_matters_outgrows_the_short_term_at_once(knowledge: KnowledgeBase) -> None:
    """Something said for a while that plainly matters is kept for good; anything else is not recalled as lasting."""
    reply = remember(
        knowledge,
        Impression(text="Always remember that the deadline is in March.", kind="short_term"),
        Impression(text="the deadline is near", kind="short_term"),
    )

    assert (reply.kinds, reply.promoted) == (("procedural", "short_term"), 1)
    assert texts(reminded(knowledge, "deadline March")) == ["Always remember that the deadline is in March."]


def test_an_episode_is_recalled_by_its_question(knowledge: KnowledgeBase) -> None:
    """What a run was asked leads to how it went, and strategies are counted over all episodes of the owner."""
    details = Episode(question="How do bees dance?", query_type="analytical", strategy="direct", score=0.5, searches=4)
    remember(knowledge, *(Impression(text=f"run {n}", details=details) for n in range(2)))
    asked = Recollecting(query="How do bees dance?", kinds=("episodic",), now=NOW, statistics=True)
    found = knowledge.memories.recollect(asked)

    assert [one.memory.details for one in found.memories] == [details, details]
    assert found.strategies == (
        StrategyRecord(query_type="analytical", strategy="direct", episodes=2, score=1.0, searches=8),
    )


def test_time_and_use_decide_between_equals(knowledge: KnowledgeBase) -> None:
    """A use counts once for each occasion, keeps a memory fresh, and puts it before one that nobody used."""
    [used] = remember(knowledge, Impression(text="bees dance on the comb")).memories
    for occasion in ("one", "one", "two"):
        reminded(knowledge, "bees dance comb", days=9, occasion=occasion)
    remember(knowledge, Impression(text="comb on the dance bees"))
    found = reminded(knowledge, "bees dance comb", days=30).memories

    assert [(one.memory.id == used, one.memory.uses) for one in found] == [(True, 2), (False, 0)]
    assert found[0].memory.last_used == NOW + timedelta(days=9)
    assert found[0].freshness > found[1].freshness and found[0].practice > found[1].practice


def test_nobody_is_reminded_of_what_is_far_from_the_query(knowledge: KnowledgeBase) -> None:
    """A memory needs relevance, however important it is."""
    remember(knowledge, Impression(text="Loaves bake for forty minutes.", importance=1.0))

    assert reminded(knowledge, "glaciers carve valleys") == Recollection()
    with pytest.raises(InvalidSearch, match="nothing to be reminded of"):
        reminded(knowledge, " ")


def test_a_fact_comes_to_mind_with_what_it_names(knowledge: KnowledgeBase) -> None:
    """What a query names leads to facts about it, though dozens of memories are nearer in their words."""
    fact = Fact(subject="Ghent", predicate="lies on", object="Scheldt")
    crowd = [Impression(text=f"where lies what river {n} of where lies") for n in range(61)]
    remember(knowledge, Impression(text="Ghent lies where the Scheldt lies.", details=fact), *crowd)

    assert "Ghent lies where the Scheldt lies." in [
        one.memory.text
        for one in knowledge.memories.recollect(
            Recollecting(query="where lies ghent of what river", now=NOW, most=100)
        ).memories
    ]


def test_the_graph_of_a_corpus_leads_to_facts_about_what_stands_beside(
    knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path
) -> None:
    """A query that names one entity brings a fact about another one that the corpus names beside it."""
    (tmp_path / "texts").mkdir()
    for number in range(2):
        (tmp_path / "texts" / f"{number}.md").write_text("Count Egmont met the painter Jan Massys.\n", encoding="utf-8")
    ingest(tmp_path / "texts")
    fact = Fact(subject="Jan Massys", predicate="painted", object="Judith")
    crowd = [Impression(text=f"who was Count Egmont {n} of who was", kind="long_term") for n in range(61)]
    remember(knowledge, Impression(text="Massys painted who Judith was.", details=fact), *crowd)
    asked = Recollecting(query="who was Count Egmont", now=NOW, most=100, min_relevance=0.05)
    found = [knowledge.memories.recollect(asked.model_copy(update={"corpora": corpora})) for corpora in ((), ("c",))]

    assert ["Massys painted who Judith was." in texts(one) for one in found] == [False, True]


def test_owners_do_not_see_each_others_memories(knowledge: KnowledgeBase) -> None:
    """Neither recall, nor listing, nor forgetting reaches over to another owner."""
    remember(knowledge, Impression(text=FOUNDED), owner="ann")

    assert texts(reminded(knowledge, owner="ann")) == [FOUNDED]
    assert (texts(reminded(knowledge)), texts(reminded(knowledge, owner="bob"))) == ([], [])
    assert knowledge.memories.forget(ForgetRequest(owner="bob", everything=True)).forgotten == 0
    assert len(all_of(knowledge, "ann")) == 1


def test_a_single_page_puts_nothing_into_memory(knowledge: KnowledgeBase, uri: str) -> None:
    """What one page says waits, also when it says it again; a page of another site that says it lets it in."""
    put_sources(uri, a="https://a.org/1", b="https://blog.a.org/2", c="https://c.net/")
    waiting = remember(knowledge, said_by("a"), said_by("b", run="s"))

    assert waiting.awaiting == 2
    assert texts(reminded(knowledge)) == []
    assert remember(knowledge, said_by("c", text=SAME, run="t")).awaiting == 0
    [found] = reminded(knowledge).memories
    assert (found.memory.origin.support, set(found.memory.origin.sources)) == (2, {"a", "b", "c"})


def test_what_a_run_has_found_on_one_page_is_no_fact_yet(knowledge: KnowledgeBase, uri: str) -> None:
    """A report that cites a page leaves what it says kept back, until a run finds it on a page of another site."""
    put_sources(uri, a="https://a.org/1", c="https://c.net/")
    facts = Recollecting(query=FOUNDED, kinds=known_facts.KINDS, now=NOW)

    assert remember(knowledge, *impressions(reporting(FOUNDED, "a"), (), ())).awaiting == 1
    assert knowledge.memories.recollect(facts).memories == ()
    remember(knowledge, *impressions(reporting(SAME, "c"), (), ()))
    [fact] = known_facts.come_to_mind(knowledge.memories.recollect(facts).memories)
    assert (fact.text, fact.run, fact.support) == (SAME, "found-c", 2)


def test_what_no_stored_source_says_waits_too(knowledge: KnowledgeBase) -> None:
    """A source that is not there supports nothing; how a run went needs none, unless it is a page that tells it."""
    episode = Impression(text="x", details=Episode(question=FOUNDED), origin=Origin(sources=(SourceId("gone"),)))
    told = said_by("gone", text="The last run found that the Bank of England was founded in 1694.")

    assert remember(knowledge, said_by("gone"), episode, told).awaiting == 2
    assert [one.memory.kind for one in reminded(knowledge).memories] == ["episodic"]


def test_sources_that_go_take_their_memories_along(
    knowledge: KnowledgeBase, ingest: Ingest, docs: Path, uri: str
) -> None:
    """A file that is gone and a corpus that is dropped do so; what others say too stays without them."""
    ingest(docs)
    put_sources(uri, x="x.md")
    sources = catalogue.source_ids(Store(uri), "c")
    remember(knowledge, *(said_by(source, text=f"{source} says it") for source in sources))
    remember(knowledge, said_by(sources[0], "x", text="Bees dance."), Impression(text="I like bees."))
    (docs / "bees.md").unlink()
    ingest(docs)

    assert len(all_of(knowledge)) == len(sources) + 1
    knowledge.drop("c")
    assert {one.text: one.origin.sources for one in all_of(knowledge)} == {"Bees dance.": ("x",), "I like bees.": ()}


def test_people_forget_by_id_run_source_and_kind(knowledge: KnowledgeBase, uri: str) -> None:
    """Conditions hold together; a source that is not the only one is taken away; nothing named forgets nothing."""
    put_sources(uri, a="a.md", b="b.md")
    remember(
        knowledge,
        *(said_by("a"), said_by("a", "b", text="The bank stands.", run="s")),
        Impression(text="I prefer tea.", kind="long_term", origin=Origin(run=RunId("s"))),
    )

    assert knowledge.memories.forget(ForgetRequest(source="a")).forgotten == 1
    assert knowledge.memories.forget(ForgetRequest(run="s", kinds=("semantic",))).forgotten == 0
    assert {one.origin.sources for one in all_of(knowledge)} == {("b",), ()}
    assert knowledge.memories.forget(ForgetRequest(run="s", kinds=("long_term",))).forgotten == 2
    with pytest.raises(InvalidSearch, match="name what is to be forgotten"):
        knowledge.memories.forget(ForgetRequest())


def test_pages_of_memories_fit_into_a_payload(knowledge: KnowledgeBase) -> None:
    """Long memories come in more pages, each goes on after the one before, and all are counted."""
    remember(knowledge, *(Impression(text=f"{n} " + "word " * 700, kind="long_term") for n in range(80)))
    seen: list[str] = []
    pages = 0
    while page := knowledge.memories.page(MemoriesRequest(after=seen[-1] if seen else "", most=500)).memories:
        seen += [one.id for one in page]
        pages += 1

    assert len(seen) == len(set(seen)) == 80 and seen == sorted(seen)
    assert pages == 2


def test_memories_of_an_older_version_are_remembered(knowledge: KnowledgeBase, uri: str, model: WordVectors) -> None:
    """A table with a column for each field comes to hold each memory whole, and what it is found by stays."""
    episode = Episode(question="Who founded it?", strategy="direct", score=0.5)
    founded = Impression(text=FOUNDED, origin=Origin(run=RunId("one")), confidence=0.6)
    remember(knowledge, founded, Impression(text="It went well.", valence=0.5, details=episode))
    before, name = all_of(knowledge), memories_table(model.dimensions)
    database = lancedb.connect(uri)
    rows = database.open_table(name).search().limit(None).to_arrow()
    known = {one.id: one for one in before}
    there = [known[id] for id in rows["id"].to_pylist()]
    once: dict[str, list[object]] = {
        "support": [one.origin.support for one in there],
        "confidence": [one.confidence for one in there],
        "valence": [one.valence for one in there],
        "merged": [one.merged for one in there],
        "details": [one.details.model_dump_json() if one.details else "" for one in there],
    }
    old = rows.drop_columns("memory")
    for field, values in once.items():
        old = old.append_column(field, pa.array(values))
    database.create_table(name, old, mode="overwrite")

    newer = KnowledgeBase(uri, model)

    assert all_of(newer) == before
    assert set(texts(reminded(newer))) >= {FOUNDED}
    assert "details" not in database.open_table(name).schema.names
