"""Findings: what a run accepts of what its tasks have found, on a real knowledge base."""

from pathlib import Path
from typing import Any

import pytest

from tenure.contracts.base import ChunkId, RunId
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import Aim, Analysis, AnalysisRequest, Candidate, Finding
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import UnknownCorpus
from tenure.knowledge.store.schema import FINDINGS, FINDINGS_SCHEMA
from tenure.knowledge.store.store import Store
from tenure.sources.parsers.tool_text import calculation_document
from tests.knowledge.conftest import FoundIn, Ingest

RUN = RunId("run-1")
HOSTILE = RunId("it's' OR 'a' = 'a'; --\"")
BREAD = Aim(topic=Topic(heading="Bread", question="starter flour water oven loaves baked minutes"))
BEES = Aim(topic=Topic(heading="Bees", question="bees dance comb nectar winter cluster queen warm"))
TEXTS = {
    "starter.md": "A starter of flour and water ferments.\n",
    "oven.md": "The oven bakes loaves in forty minutes.\n",
    "bees.md": "Bees dance on the comb for nectar.\n",
    "again.md": "Bees dance on the comb for the nectar.\n",
    "stone.md": "Granite is quarried in Norway.\n",
}


@pytest.fixture
def found(found_in: FoundIn) -> dict[str, PassageRef]:
    """The passage of each document of a small corpus, by the document's name."""
    return found_in(TEXTS, "bees oven starter granite")


def request(*candidates: Candidate, **others: Any) -> AnalysisRequest:
    return AnalysisRequest(
        **{
            "run": RUN,
            "cycle": 1,
            "question": "bread and bees",
            "corpora": ("c",),
            "aims": (BREAD, BEES),
            "candidates": candidates,
            "min_relevance": 0.2,
            "min_novelty": 0.15,
            **others,
        }
    )


def candidate(passage: PassageRef, query: str = "q", topic: str = "Bread") -> Candidate:
    return Candidate(topic=topic, query=query, passage=passage)


def chunks(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.passage.chunk for finding in findings}


def rows(uri: str) -> list[dict[str, Any]]:
    """Return the findings that are stored, by key."""
    stored: list[dict[str, Any]] = Store(uri).rows(FINDINGS, FINDINGS_SCHEMA.names).to_pylist()
    return sorted(stored, key=lambda row: str(row["key"]))


def test_what_is_relevant_and_new_is_accepted(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """The rest is counted by query and reason; each finding counts for the topic it is about, most relevant first."""
    analysis = knowledge.analyze(
        request(
            *(candidate(found[name], "first") for name in ("starter", "oven", "stone")),
            *(candidate(found[name], "second", "Gone") for name in ("bees", "again")),
        )
    )

    topics = {finding.passage.chunk: finding.topic for finding in analysis.accepted}
    (bee,) = topics.keys() & {found["bees"].chunk, found["again"].chunk}
    assert topics == {found["starter"].chunk: "Bread", found["oven"].chunk: "Bread", bee: "Bees"}
    assert {(r.query, r.irrelevant, r.known) for r in analysis.rejected} == {("first", 1, 0), ("second", 0, 1)}
    relevances = [finding.passage.relevance for finding in analysis.accepted]
    assert relevances == sorted(relevances, reverse=True) and min(relevances) >= 0.2


def test_a_passage_counts_for_the_heading_it_stands_under(
    knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path
) -> None:
    """What an outline takes over from a document is served by what stands there, whatever it was found for."""
    (tmp_path / "guide.md").write_text(
        "# Guide\n\n## Ripening\n\nBread is baked and cheese ripens.\n", encoding="utf-8"
    )
    ingest(tmp_path)
    (passage,) = knowledge.search(SearchRequest(query="bread cheese", corpora=("c",), k=5)).passages
    aims = [Aim(topic=Topic(heading=heading, question="bread and cheese")) for heading in ("Baking", "ripening")]

    analysis = knowledge.analyze(request(candidate(passage, topic="Baking"), aims=tuple(aims)))

    assert [finding.topic for finding in analysis.accepted] == ["ripening"]


def test_repeated_analysis_gives_the_same_answer_and_rows(
    knowledge: KnowledgeBase, found: dict[str, PassageRef], uri: str
) -> None:
    """What a cycle accepted itself is not known to it, and every finding is stored once."""
    asked = request(*(candidate(passage) for passage in found.values()))
    first = knowledge.analyze(asked)
    stored = rows(uri)

    assert knowledge.analyze(asked) == first
    assert rows(uri) == stored
    assert {row["chunk"] for row in stored} == chunks(first.accepted)


def test_only_earlier_cycles_are_known(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """What was accepted before is known, in this cycle and the next ones, but not to a repetition of an earlier one."""
    bees = request(candidate(found["bees"]), cycle=2)
    accepted = knowledge.analyze(bees)
    later = knowledge.analyze(request(candidate(found["again"]), cycle=3))
    earlier = knowledge.analyze(request(candidate(found["again"]), cycle=1))

    assert chunks(accepted.accepted) == {found["bees"].chunk}
    assert (later.accepted, later.rejected[0].known) == ((), 1)
    assert chunks(earlier.accepted) == {found["again"].chunk}


def test_runs_do_not_know_each_other(knowledge: KnowledgeBase, found: dict[str, PassageRef], uri: str) -> None:
    """A name that looks like a condition is a name."""
    asked = request(candidate(found["bees"]))
    knowledge.analyze(asked)
    hostile = asked.model_copy(update={"run": HOSTILE, "cycle": 2})

    assert chunks(knowledge.analyze(hostile).accepted) == {found["bees"].chunk}
    assert knowledge.analyze(hostile.model_copy(update={"cycle": 3})).accepted == ()
    assert {row["run"] for row in rows(uri)} == {RUN, HOSTILE}


def test_a_passage_found_twice_belongs_to_the_first_query(
    knowledge: KnowledgeBase, found: dict[str, PassageRef]
) -> None:
    """A chunk is judged once."""
    bees = found["bees"]
    analysis = knowledge.analyze(request(candidate(bees, "first"), candidate(bees, "second")))

    assert [finding.query for finding in analysis.accepted] == ["first"]
    assert analysis.rejected == ()


def test_passages_that_are_gone_are_left_out(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A re-ingestion beside the run may have replaced some, or all."""
    gone = candidate(found["oven"].model_copy(update={"chunk": ChunkId("gone")}))

    assert chunks(knowledge.analyze(request(gone, candidate(found["bees"]))).accepted) == {found["bees"].chunk}
    assert knowledge.analyze(request(gone)) == Analysis()


def test_nothing_to_judge_or_to_judge_by(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """Without candidates and without an outline nothing is accepted."""
    assert knowledge.analyze(request()) == knowledge.analyze(request(candidate(found["bees"]), aims=())) == Analysis()


def test_nothing_relevant_leaves_no_row(knowledge: KnowledgeBase, found: dict[str, PassageRef], uri: str) -> None:
    """A cycle that accepts nothing stores nothing."""
    analysis = knowledge.analyze(request(candidate(found["stone"])))

    assert (analysis.accepted, rows(uri)) == ((), [])


def test_a_corpus_that_was_never_ingested_is_an_error(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """The similarity of its unrelated chunks is not known."""
    with pytest.raises(UnknownCorpus):
        knowledge.analyze(request(candidate(found["bees"]), corpora=("other",)))


def test_an_imagined_passage_decides_with_the_question(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A topic whose imagined passage speaks of stone takes in what its question alone would not."""
    asked = request(candidate(found["stone"]), aims=(BREAD,))
    imagined = BREAD.model_copy(update={"hypothetical": "Granite is quarried in Norway."})

    assert knowledge.analyze(asked).accepted == ()
    assert len(knowledge.analyze(asked.model_copy(update={"aims": (imagined,)})).accepted) == 1


def test_what_is_about_the_question_and_no_topic_is_offered(
    knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path
) -> None:
    """Passages that resemble each other and miss the outline make a group; stray ones do not."""
    folder = tmp_path / "honey"
    folder.mkdir()
    for n, word in enumerate(("spring", "summer", "autumn", "frost")):
        text = f"Honey of bees is golden and sweet in {word}.\n"
        (folder / f"honey{n}.md").write_text(text, encoding="utf-8")
    (folder / "stray.md").write_text("The honey question.\n", encoding="utf-8")
    ingest(folder)
    refs = knowledge.search(SearchRequest(query="honey golden sweet", corpora=("c",), k=50)).passages
    honey = {ref.chunk for ref, p in zip(refs, knowledge.passages(refs), strict=True) if "golden" in p.text}
    analysis = knowledge.analyze(
        request(*map(candidate, refs), question="golden sweet honey of bees", aims=(BREAD,), min_relevance=0.3)
    )

    assert [{passage.chunk for passage in group} for group in analysis.latent] == [honey]
    assert analysis.accepted == ()


def test_what_was_computed_for_a_task_needs_no_likeness(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A result that a tool was asked for is accepted whatever its words; a passage that a search found is not."""
    document = calculation_document("Sum", "1 + 1 = 2")
    (result,) = knowledge.keep_result("c", "calculation: 1 + 1", document, "q")
    analysis = knowledge.analyze(request(candidate(result), candidate(found["stone"])))

    assert chunks(analysis.accepted) == {result.chunk}
