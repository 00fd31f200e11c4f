"""Forking knowledge: a new run knows what its origin knew after a cycle, and nothing that came later."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.evidence.web import FetchedPage, ProviderAnswer, ReadPagesRequest
from tenure.contracts.research.fork import Forked, ForkRequest
from tenure.contracts.research.spiral import Aim, SpiralState
from tenure.contracts.run.role_calls import Turn
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.store.errors import EmbeddingModelMismatch, UnknownCorpus
from tenure.knowledge.store.store import Store
from tenure.roles.base import Message
from tests.knowledge.conftest import Ingest
from tests.knowledge.ingestion.test_web_pages import cached, html
from tests.knowledge.search.test_findings import BEES, BREAD, TEXTS, candidate, chunks, request
from tests.knowledge.word_vectors import WordVectors

OLD, NEW = RunId("run-1"), RunId("run-2")
EARLY, LATE, LAST = (f"https://mill.example/{name}" for name in ("rye", "oats", "spelt"))


def page(grain: str) -> bytes:
    """Return a page on a grain."""
    lines = (f"{grain} of field {n} is milled in stone mill {n * n} for {grain} sacks." for n in range(30))
    return html(grain, " ".join(lines))


@pytest.fixture
def base(uri: str, model: WordVectors) -> Iterator[KnowledgeBase]:
    """A knowledge base in which a run has read a page in each of its cycles, and one while it wrote."""
    pages = {EARLY: page("Rye"), LATE: page("Oats"), LAST: page("Spelt")}
    PageCache(Store(uri)).keep([cached(address, body) for address, body in pages.items()])
    made = KnowledgeBase(uri, model)
    for cycle, address in ((1, EARLY), (2, LATE), (1_000, LAST)):
        read(made, address, cycle)
    yield made
    made.close()


def read(base: KnowledgeBase, address: str, cycle: int, corpus: str = "web/run-1") -> None:
    fetched = (FetchedPage(address=address, status="fetched", page=address),)
    answers = (ProviderAnswer(provider="engine", status="answered", hits=1),)
    reading = ReadPagesRequest(corpus=corpus, query=f"q{cycle}", cycle=cycle, fetched=fetched, answers=answers)
    base.read_pages(reading, lambda progress: None)


def forked(base: KnowledgeBase, cycle: int, **others: Any) -> Forked:
    asked = {"origin": OLD, "run": NEW, "state": SpiralState(cycle=cycle), **others}
    return base.fork(ForkRequest.model_validate(asked), lambda progress: None)


def sources(base: KnowledgeBase, corpus: str) -> dict[str, int]:
    """Return the addresses of a corpus's pages, as a search finds them, with the number of passages."""
    refs = base.search(SearchRequest(query="stone mill", corpora=(corpus,), k=200)).passages
    uris = [passage.uri for passage in base.passages(refs)]
    return {uri: uris.count(uri) for uri in uris}


def test_pages_that_were_read_by_then_are_the_forks_own(base: KnowledgeBase) -> None:
    """The fork finds and cites the pages of its cycles under ids of its own; what it reads stays with it."""
    passages = base.search(SearchRequest(query="Rye mill", corpora=("web/run-1",), k=1)).passages
    state = SpiralState(cycle=1, aims=(Aim(topic=BREAD.topic, passages=passages),))
    before = sources(base, "web/run-1")
    reply = forked(base, 1, state=state, evidence=passages, web=True)
    read(base, LATE, 2, "web/run-2")

    assert sources(base, "web/run-2") == {EARLY: before[EARLY], LATE: before[LATE]}
    assert sources(base, "web/run-1") == before and len(before) == 3
    (moved,) = reply.evidence
    assert moved == reply.state.aims[0].passages[0]
    assert (moved.chunk, moved.source) != (passages[0].chunk, passages[0].source)
    texts = [base.passages([ref])[0].text for ref in (moved, passages[0])]
    assert texts[0] == texts[1]
    assert base.sources([moved.source])[moved.source].uri == EARLY


def test_the_account_of_the_web_is_that_of_the_cycles(base: KnowledgeBase) -> None:
    """Pages and engines of later cycles are not in the account of the fork."""
    forked(base, 2, web=True)
    account = base.web_account("web/run-2")

    assert {one.address for one in account.pages} == {EARLY, LATE}
    assert [(engine.engine, engine.asked) for engine in account.engines] == [("engine", 2)]


def test_a_page_that_is_found_again_belongs_to_its_first_cycle(base: KnowledgeBase) -> None:
    """Coming upon a page in a later cycle does not take it from a fork at the earlier one."""
    read(base, EARLY, 3)
    forked(base, 1, web=True)

    assert set(sources(base, "web/run-2")) == {EARLY}


def test_repeating_a_fork_leaves_the_same_rows(base: KnowledgeBase) -> None:
    """An activity that is tried again changes nothing."""
    forked(base, 2, web=True)
    before = [(one.corpus, one.sources, one.chunks) for one in base.corpora()]
    forked(base, 2, web=True)

    assert [(one.corpus, one.sources, one.chunks) for one in base.corpora()] == before


def test_pages_that_cannot_be_taken_over_are_an_error(base: KnowledgeBase, uri: str) -> None:
    """Pages that were dropped, or embedded with another model, are named instead of being passed over."""
    other = KnowledgeBase(uri, WordVectors("another"))
    with pytest.raises(EmbeddingModelMismatch):
        forked(other, 1, web=True)
    base.drop("web/run-1")
    with pytest.raises(UnknownCorpus):
        forked(base, 1, web=True)


def test_findings_of_later_cycles_are_new_to_a_fork(knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path) -> None:
    """What the origin accepted by then is known to the fork; what it accepted later is accepted again."""
    found = _found(knowledge, ingest, tmp_path)
    knowledge.analyze(request(candidate(found["starter"])))
    knowledge.analyze(request(candidate(found["bees"], topic="Bees"), cycle=2))
    forked(knowledge, 1)
    again = request(candidate(found["starter"]), candidate(found["bees"], topic="Bees"), run=NEW, cycle=2)
    accepted = chunks(knowledge.analyze(again).accepted)

    assert accepted == {found["bees"].chunk}
    assert knowledge.analyze(request(candidate(found["bees"]), cycle=3, aims=(BREAD, BEES))).accepted == ()


def test_a_conversation_goes_on_from_its_turn(knowledge: KnowledgeBase) -> None:
    """The fork has what was said before its next turn, and what it says is not said in the origin."""
    for number in range(3):
        message = Message(role="user", content=f"turn {number}")
        knowledge.keep_turn("planner", Turn(run=OLD, number=number), [message], anew=number == 0)
    state = SpiralState(cycle=2, turns={"planner": Turn(run=OLD, number=2)})
    turn = forked(knowledge, 2, state=state).state.turns["planner"]
    knowledge.keep_turn("planner", turn, [Message(role="user", content="another")], anew=False)

    assert turn == Turn(run=NEW, number=2)
    assert [said.content for said in knowledge.said("planner", turn)] == ["turn 0", "turn 1"]
    old = knowledge.said("planner", Turn(run=OLD, number=3))
    assert [said.content for said in old] == ["turn 0", "turn 1", "turn 2"]


def _found(knowledge: KnowledgeBase, ingest: Ingest, folder: Path) -> dict[str, PassageRef]:
    """Return the passage of each document of a small corpus, by the document's name."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    ingest(*(folder / name for name in TEXTS))
    refs = knowledge.search(SearchRequest(query="bees oven starter granite", corpora=("c",), k=50)).passages
    uris = [passage.uri for passage in knowledge.passages(refs)]
    return {Path(uri).stem: ref for uri, ref in zip(uris, refs, strict=True)}
