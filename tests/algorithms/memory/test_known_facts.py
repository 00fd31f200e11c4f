"""Tests of facts that a run saves and recalls."""

from datetime import UTC, datetime
from typing import Any

from tenure.algorithms.memory.known_facts import (
    MAX_KNOWN_FACTS,
    MAX_SAVED_FACTS,
    QUOTE_CONFIDENCE,
    collect_facts,
    describe_origin,
    select_known_facts,
)
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.choices import MemoryKind
from tenure.contracts.knowledge.memory import Memory, MemoryOrigin, ScoredMemory
from tenure.contracts.research.learning import KnownFact
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, ResultSection, SourceEntry
from tenure.contracts.run.run import Usage

SOURCES = (
    SourceEntry(n=1, id=SourceId("rye"), uri="rye.md", title="Rye: a guide", accessed="2026"),
    SourceEntry(n=2, id=SourceId("ovens"), uri="ovens.md", title="Ovens", accessed="2026"),
    SourceEntry(n=3, id=SourceId("sum"), uri="calculation: 1 + 1", title="A sum", accessed="2026", derived=True),
)
RYE = "Rye bread of Westphalia is baked for a whole day."


def claim(text: str, *sources: int, **others: Any) -> ResultClaim:
    """Return a supported claim that cites sources by their numbers."""
    citations = tuple(ResultCitation(source=n, start=0, end=5, quote="words") for n in sources)
    return ResultClaim(**{"text": text, "status": "supported", "citations": citations, **others})


def result(*sections: tuple[ResultClaim, ...]) -> Result:
    """Return the result of a run with sections of these claims."""
    return Result(
        id=RunId("this"),
        mode="RESEARCH",
        question="How is bread made?",
        title="Bread",
        abstract="",
        sections=tuple(ResultSection(topic=str(n), markdown="", claims=claims) for n, claims in enumerate(sections)),
        sources=SOURCES,
        usage=Usage(),
        status="done",
    )


def recalled(text: str, kind: MemoryKind = "semantic", **others: Any) -> ScoredMemory:
    """Return a recalled memory."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    memory = Memory(
        id=text, kind=kind, text=text, created_at=now, origin=MemoryOrigin(run=RunId("one"), support=2), **others
    )
    return ScoredMemory(memory=memory, score=1, relevance=0.61234)


def test_fact_has_confidence_sources_and_kind() -> None:
    """A fact has the confidence and the sources of its claim, and a kind by its text."""
    first, second = collect_facts(
        result((claim(RYE, 1, 2, 1, confidence=0.8), claim("Crust forms in a dry oven.", 2))), ("c",)
    )

    assert (first.text, first.kind, first.confidence) == ("Crust forms in a dry oven.", "long_term", QUOTE_CONFIDENCE)
    assert (second.text, second.kind, second.confidence) == (RYE, "semantic", 0.8)
    assert second.origin == MemoryOrigin(
        run=RunId("this"), sources=(SourceId("rye"), SourceId("ovens")), corpora=("c",)
    )


def test_a_fact_on_the_present_moment_is_short_term() -> None:
    """Its words limit it to the present; a run recalls it like other facts."""
    [fact] = collect_facts(result((claim("The oven is currently out of order.", 1),)), ())

    assert fact.kind == "short_term"
    assert [one.text for one in select_known_facts([recalled(fact.text, "short_term")])] == [fact.text]


def test_only_supported_claims_are_saved() -> None:
    """Computed, unsupported and uncited claims are left out."""
    [only] = collect_facts(
        result(
            (
                claim("The oven of the baker has two doors.", 3),
                claim("The oven of the baker has three doors.", 2, status="unverified"),
                claim("The oven of the baker has four doors."),
                claim("The oven of the baker has five doors.", 2, 3),
            )
        ),
        ("c",),
    )

    assert (only.text, only.origin.sources) == ("The oven of the baker has five doors.", (SourceId("ovens"),))
    assert not only.rests_on_sources  # the computed result may come from another corpus


def test_conclusions_are_not_saved_as_facts() -> None:
    """An inference is no fact of a source, and a cell is saved with its row and column."""
    cell = claim("The baker rests it for two hours.", 1, label="Dough of rye", column="Rest")

    assert collect_facts(result((claim(RYE, 1, kind="inference"),)), ("kitchen",)) == ()
    assert [fact.text for fact in collect_facts(result((cell,)), ("kitchen",))] == [cell.statement]


def test_tainted_claims_are_not_saved() -> None:
    """A sentence that instructions in a source may have influenced is no fact."""
    assert collect_facts(result((claim(RYE, 1),)), ("c",))
    assert not collect_facts(result((claim(RYE, 1, tainted=True),)), ("c",))


def test_facts_are_self_contained() -> None:
    """Markup and introductory connectives are removed; claims that need context are left out."""
    found = collect_facts(
        result(
            (
                claim("However, `rye` is **sour** in the north [1, 2].", 1),
                claim("This guide is about rye and its bread.", 1),
                claim("It is baked for a whole day in Westphalia.", 1),
                claim("Three kinds of rye bread:", 1),
                claim("The baker of the town answers one of these questions.", 1),
                claim("The word sour means two things for that reason.", 1),
                claim("On the last day of June, in the heat of noon, it became sour.", 1),
                claim("The baker of the town envies those who bake rye.", 1),
                claim("``", 1),
            )
        ),
        ("c",),
    )

    assert [one.text for one in found] == [
        "Rye is sour in the north.",
        "“Rye: a guide” is about rye and its bread.",
        "The baker of the town envies those who bake rye.",
    ]


def test_facts_are_distinct_and_ranked() -> None:
    """Most confident first, then by their position in the abstract or section."""
    many = tuple(claim(f"Loaf number {n} of the baker is baked in the oven.", 2) for n in range(MAX_SAVED_FACTS))
    sure = claim("A sure thing is baked in the oven.", 1, confidence=1.0)
    abstract = claim("Bread is baked.", 1), claim("Bread is baked in the oven of the baker.", 1)
    found = collect_facts(
        result(many, (claim(RYE, 1), many[0], sure)).model_copy(update={"abstract_claims": abstract}), ("c",)
    )

    assert [one.text for one in found[:4]] == [sure.text, abstract[1].text, many[0].text, RYE]
    assert len(found) == MAX_SAVED_FACTS


def test_known_facts_are_distinct_and_undisputed() -> None:
    """Known facts are distinct and undisputed."""
    [only] = select_known_facts(
        [
            recalled(RYE),
            recalled(RYE.upper()),
            recalled("Denied.", contradicted_by="x"),
            recalled("It went well.", "episodic"),
        ]
    )

    assert (only.text, only.run, only.relevance, only.support) == (RYE, "one", 0.6123, 2)
    assert len(select_known_facts([recalled(f"Fact {n}", "long_term") for n in range(20)])) == MAX_KNOWN_FACTS


def test_origin_of_a_fact_is_described() -> None:
    """A fact names its run and its corpora, or the web; a fact of no run is the owner's."""
    fact = KnownFact(text="Rye is a grass.", run=RunId("one"), relevance=0.5, corpora=("a", "b"))

    assert describe_origin(fact) == "one, from a, b"
    assert describe_origin(fact.model_copy(update={"corpora": ()})) == "one, from the web"
    assert describe_origin(fact.model_copy(update={"corpora": (), "run": RunId("")})) == "from the owner"


def test_a_claim_that_is_longer_than_a_memory_is_no_fact() -> None:
    """A claim of thousands of characters is left out instead of failing the run."""
    long = claim(f"{RYE} " * 100, 1, confidence=1.0)

    assert [fact.text for fact in collect_facts(result((long, claim("Crust forms in a dry oven.", 2))), ("c",))] == [
        "Crust forms in a dry oven."
    ]
