"""Test that a fork gets the knowledge of its origin up to a cycle, and nothing later."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.evidence.web import FetchedPage, ProviderOutcome, ReadPagesRequest
from tenure.contracts.research.fork import ForkReply, ForkRequest
from tenure.contracts.research.spiral import SpiralState, TopicState
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.store.errors import EmbeddingModelMismatch, UnknownCorpus
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.knowledge.ingestion.test_web_pages import cached, html
from tests.knowledge.search.test_findings import BEES, BREAD, TEXTS, candidate, chunks, request
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import slow

OLD, NEW = RunId("run-1"), RunId("run-2")
EARLY, LATE, LAST = (f"https://mill.example/{name}" for name in ("rye", "oats", "spelt"))


def page(grain: str) -> bytes:
    """Return a page on a grain."""
    lines = (f"{grain} of field {n} is milled in stone mill {n * n} for {grain} sacks." for n in range(30))
    return html(grain, " ".join(lines))


@pytest.fixture
def base(uri: str, model: WordVectors) -> Iterator[KnowledgeBase]:
    """Knowledge base in which a run has read a page in each cycle, and one while it wrote."""
    pages = {EARLY: page("Rye"), LATE: page("Oats"), LAST: page("Spelt")}
    PageCache(Store(uri)).store_pages([cached(address, body) for address, body in pages.items()])
    made = KnowledgeBase(uri, model)
    for cycle, address in ((1, EARLY), (2, LATE), (1_000, LAST)):
        read(made, address, cycle)
    yield made
    made.close()


def read(base: KnowledgeBase, address: str, cycle: int, corpus: str = "web/run-1") -> None:
    fetched = (FetchedPage(url=address, status="fetched", canonical_url=address),)
    answers = (ProviderOutcome(provider="engine", status="answered", hits=1),)
    reading = ReadPagesRequest(corpus=corpus, query=f"q{cycle}", cycle=cycle, fetched=fetched, outcomes=answers)
    base.corpora.read_pages(reading, lambda progress: None)


def forked(base: KnowledgeBase, cycle: int, **others: Any) -> ForkReply:
    asked = {"origin": OLD, "run": NEW, "state": SpiralState(cycle=cycle), **others}
    return base.corpora.fork(ForkRequest.model_validate(asked), lambda progress: None)


def sources(base: KnowledgeBase, corpus: str) -> dict[str, int]:
    """Return the URLs of the pages of a corpus that a search finds, with the number of passages."""
    refs = base.retrieval.search(SearchRequest(query="stone mill", corpora=(corpus,), k=200)).passages
    uris = [passage.uri for passage in base.corpora.load_passages(refs)]
    return {uri: uris.count(uri) for uri in uris}


@slow
def test_pages_up_to_the_cycle_are_copied(base: KnowledgeBase) -> None:
    """The fork finds the pages under ids of its own; pages that it reads later stay with it."""
    passages = base.retrieval.search(SearchRequest(query="Rye mill", corpora=("web/run-1",), k=1)).passages
    state = SpiralState(cycle=1, topics=(TopicState(topic=BREAD.topic, passages=passages),))
    before = sources(base, "web/run-1")
    reply = forked(base, 1, state=state, evidence=passages, web=True)
    read(base, LATE, 2, "web/run-2")

    assert sources(base, "web/run-2") == {EARLY: before[EARLY], LATE: before[LATE]}
    assert sources(base, "web/run-1") == before and len(before) == 3
    (moved,) = reply.evidence
    assert moved == reply.state.topics[0].passages[0]
    assert (moved.chunk, moved.source) != (passages[0].chunk, passages[0].source)
    texts = [base.corpora.load_passages([ref])[0].text for ref in (moved, passages[0])]
    assert texts[0] == texts[1]
    assert base.corpora.load_sources([moved.source])[moved.source].uri == EARLY


@slow
def test_web_report_covers_the_copied_cycles(base: KnowledgeBase) -> None:
    """Pages and providers of later cycles are not in the report of the fork."""
    forked(base, 2, web=True)
    account = base.corpora.load_web_account("web/run-2")

    assert {one.url for one in account.pages} == {EARLY, LATE}
    assert [(engine.provider, engine.searches) for engine in account.providers] == [("engine", 2)]


@slow
def test_page_found_again_belongs_to_its_first_cycle(base: KnowledgeBase) -> None:
    """A page that is found again later is still copied to a fork of the earlier cycle."""
    read(base, EARLY, 3)
    forked(base, 1, web=True)

    assert set(sources(base, "web/run-2")) == {EARLY}


@slow
def test_fork_is_idempotent(base: KnowledgeBase) -> None:
    """A retried activity changes nothing."""
    forked(base, 2, web=True)
    before = [(one.corpus, one.sources, one.chunks) for one in base.corpora.load_stats()]
    forked(base, 2, web=True)

    assert [(one.corpus, one.sources, one.chunks) for one in base.corpora.load_stats()] == before


@slow
def test_missing_or_incompatible_pages_raise_an_error(base: KnowledgeBase, uri: str) -> None:
    """Dropped pages, and pages embedded with another model, raise an error."""
    other = KnowledgeBase(uri, WordVectors("another"))
    with pytest.raises(EmbeddingModelMismatch):
        forked(other, 1, web=True)
    base.corpora.drop("web/run-1")
    with pytest.raises(UnknownCorpus):
        forked(base, 1, web=True)


@slow
def test_findings_of_later_cycles_are_new_to_a_fork(knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path) -> None:
    """Findings up to the cycle are known to the fork; later ones are accepted again."""
    found = _found(knowledge, ingest, tmp_path)
    knowledge.retrieval.analyze_candidates(request(candidate(found["starter"])))
    knowledge.retrieval.analyze_candidates(request(candidate(found["bees"], topic="Bees"), cycle=2))
    forked(knowledge, 1)
    again = request(candidate(found["starter"]), candidate(found["bees"], topic="Bees"), run=NEW, cycle=2)
    accepted = chunks(knowledge.retrieval.analyze_candidates(again).accepted)

    assert accepted == {found["bees"].chunk}
    assert (
        knowledge.retrieval.analyze_candidates(
            request(candidate(found["bees"]), cycle=3, topics=(BREAD, BEES))
        ).accepted
        == ()
    )


def _found(knowledge: KnowledgeBase, ingest: Ingest, folder: Path) -> dict[str, PassageRef]:
    """Return the passage of each document of a small corpus, by document name."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    ingest(*(folder / name for name in TEXTS))
    refs = knowledge.retrieval.search(SearchRequest(query="bees oven starter granite", corpora=("c",), k=50)).passages
    uris = [passage.uri for passage in knowledge.corpora.load_passages(refs)]
    return {Path(uri).stem: ref for uri, ref in zip(uris, refs, strict=True)}
