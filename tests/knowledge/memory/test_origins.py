"""Tests of the origin of memories on a real store: a run recalls nothing from a corpus that it may not read."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.knowledge.memory import (
    ConsolidationRequest,
    FactDetails,
    MemoriesRequest,
    MemoryOrigin,
    MemorySearchRequest,
    NewMemory,
    RememberRequest,
)
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.schema import SOURCES, SOURCES_SCHEMA
from tenure.knowledge.store.store import Store

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FACT = "The Bank of England was founded by William Paterson in 1694."
SAME = "In 1694 the Bank of England was founded by William Paterson."
EVERY = ("a", "b", "it's")


def put_sources(uri: str, **corpora: str) -> None:
    """Store a document of a corpus under each id; one of a web corpus is a page."""
    blank: dict[str, object] = {
        field.name: "" if pa.types.is_string(field.type) else field.type.to_pandas_dtype()(0).item()
        for field in SOURCES_SCHEMA
        if not pa.types.is_list(field.type)
    }
    rows = [
        blank
        | {"id": id, "uri": f"https://{id}.example/" if "web/" in corpus else f"{id}.md", "corpus": corpus}
        | {"text": f"{id} tells {id} about the bank in its own words"}
        for id, corpus in corpora.items()
    ]
    Store(uri).upsert(SOURCES, pa.Table.from_pylist(rows, schema=SOURCES_SCHEMA), "id")


def fact(*sources: str, text: str = FACT, run: str = "r", read: tuple[str, ...] | None = EVERY) -> NewMemory:
    origin = MemoryOrigin(run=RunId(run), sources=tuple(map(SourceId, sources)), corpora=read)
    return NewMemory(text=text, kind="semantic", origin=origin, rests_on_sources=bool(sources))


def remember(knowledge: KnowledgeBase, *memories: NewMemory) -> None:
    knowledge.memories.remember(RememberRequest(memories=memories, now=NOW))


def recall(knowledge: KnowledgeBase, *corpora: str, query: str = FACT, limit: int = 100) -> list[str]:
    """Return the runs of the memories that a run on these corpora recalls."""
    request = MemorySearchRequest(query=query, corpora=corpora, now=NOW, limit=limit, min_relevance=0.05)
    return sorted(found.memory.origin.run for found in knowledge.memories.recall(request).memories)


def test_a_fact_is_recalled_where_its_corpora_are_read(knowledge: KnowledgeBase, uri: str) -> None:
    """A fact comes from the corpora of its sources, of whatever else its run has read; it needs all of them."""
    put_sources(uri, one="a", two="b", quoted="it's", page="web/r", other="web/s")
    remember(
        knowledge,
        fact("one", run="in-a"),
        fact("one", "two", run="in-both"),
        fact("quoted", run="quoted"),
        fact("page", "other", run="in-web", read=("web/r",)),
        NewMemory(text=FACT, kind="semantic"),
    )

    assert recall(knowledge) == ["", "in-web"]
    assert recall(knowledge, "a") == ["", "in-a", "in-web"]
    assert recall(knowledge, "b", "web/q") == ["", "in-web"]
    assert recall(knowledge, "b", "a") == ["", "in-a", "in-both", "in-web"]
    assert recall(knowledge, "it's", "A") == ["", "in-web", "quoted"]
    every = knowledge.memories.recall(MemorySearchRequest(query=FACT, now=NOW, unrestricted=True)).memories
    assert len(every) == 5 and {one.memory.origin.corpora for one in every} == {("a",), ("a", "b"), ("it's",), ()}


def test_other_memories_need_all_that_their_run_could_read(knowledge: KnowledgeBase, uri: str) -> None:
    """An episode, advice, and a fact with a computed or missing source come from every corpus of their run."""
    put_sources(uri, one="a", computed="a (results)")
    remember(
        knowledge,
        NewMemory(text=FACT, kind="long_term", origin=MemoryOrigin(run=RunId("advice"), corpora=("b", "a", "web/r"))),
        fact("one", "computed", run="computed", read=("a", "b")),
        fact("one", "gone", run="gone", read=("a", "b")),
        NewMemory(text=FACT, kind="long_term", origin=MemoryOrigin(run=RunId("unknown"))),
    )

    assert recall(knowledge, "a") == [] == recall(knowledge, "b")
    assert recall(knowledge, "a", "b") == ["advice", "computed", "gone"]


def test_memories_of_another_corpus_take_no_place(knowledge: KnowledgeBase, uri: str) -> None:
    """Nearer memories that a run may not recall do not displace those that it may; entities lead to none either."""
    put_sources(uri, one="a", two="b")
    details = FactDetails(subject="William Paterson", predicate="founded", object="Bank of England")
    crowd = [fact("two", run=f"near-{n}").model_copy(update={"details": details}) for n in range(120)]
    remember(knowledge, fact("one", text="The Bank of England stands.", run="far"), *crowd)

    assert recall(knowledge, "a") == ["far"]
    assert len(recall(knowledge, "b", query="Who was William Paterson?")) >= 40
    assert recall(knowledge, "a", query="Who was William Paterson?") in ([], ["far"])


def test_a_merged_memory_needs_the_corpora_of_all(knowledge: KnowledgeBase, uri: str) -> None:
    """A consolidation merges the origins too; with one unknown origin, no run recalls the memory."""
    put_sources(uri, one="a", two="b")
    remember(knowledge, fact("one", run="x"), fact("two", text=SAME, run="y"))
    knowledge.memories.consolidate(ConsolidationRequest(step="compare", now=NOW), lambda progress: None)
    [merged] = knowledge.memories.list_page(MemoriesRequest()).memories

    assert merged.merged_count == 2 and merged.origin.corpora == ("a", "b")
    assert recall(knowledge, "a") == [] == recall(knowledge, "b") and len(recall(knowledge, "a", "b")) == 1
    remember(knowledge, NewMemory(text=SAME, kind="semantic", origin=MemoryOrigin(run=RunId("z"))))
    knowledge.memories.consolidate(ConsolidationRequest(step="compare", now=NOW), lambda progress: None)
    [merged] = knowledge.memories.list_page(MemoriesRequest()).memories
    assert merged.merged_count == 3 and merged.origin.corpora is None and recall(knowledge, *EVERY) == []


def test_a_repeated_memory_keeps_all_corpora(knowledge: KnowledgeBase, uri: str) -> None:
    """The same statement of the same run from a second corpus needs both, also after a third time."""
    put_sources(uri, one="a", two="b")
    remember(knowledge, fact("one"))
    remember(knowledge, fact("two"))
    remember(knowledge, fact("one"))

    assert recall(knowledge, "a") == [] and recall(knowledge, "a", "b") == ["r"]


def test_a_confirmation_from_a_corpus_is_an_origin(knowledge: KnowledgeBase, uri: str) -> None:
    """A web statement that a document confirms is recalled only by runs that may read this document."""
    put_sources(uri, page="web/r", one="a")
    remember(knowledge, fact("one", run="document"))
    remember(knowledge, fact("page", text=SAME, run="page"))

    assert recall(knowledge) == [] and recall(knowledge, "a") == ["document", "page"]


@pytest.mark.parametrize("corpora", [("a') OR (1 = 1",), ("a\\' OR true --",), ("%",), ("",)])
def test_a_name_of_a_corpus_is_no_condition(knowledge: KnowledgeBase, uri: str, corpora: tuple[str, ...]) -> None:
    """Quotes and patterns in the name of a corpus reach no other memory."""
    put_sources(uri, one="a")
    remember(knowledge, fact("one"))

    assert recall(knowledge, *corpora) == []
