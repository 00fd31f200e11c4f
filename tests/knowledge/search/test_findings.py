"""Test which candidates a run accepts as findings, on a real knowledge base."""

from pathlib import Path
from typing import Any

import pytest

from tenure.algorithms.calculator.calculator import Calculation
from tenure.contracts.base import ChunkId, RunId
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.research.cycle import Finding
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import AnalysisReply, AnalysisRequest, CandidatePassage, TopicState
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import UnknownCorpus
from tenure.knowledge.store.schema import FINDINGS, FINDINGS_SCHEMA
from tenure.knowledge.store.store import Store
from tenure.sources.parsers.tool_text import build_calculation_document
from tests.knowledge.conftest import FoundIn, Ingest
from tests.support.tiers import slow

RUN = RunId("run-1")
HOSTILE = RunId("it's' OR 'a' = 'a'; --\"")
BREAD = TopicState(topic=Topic(heading="Bread", question="starter flour water oven loaves baked minutes"))
BEES = TopicState(topic=Topic(heading="Bees", question="bees dance comb nectar winter cluster queen warm"))
TEXTS = {
    "starter.md": "A starter of flour and water ferments.\n",
    "oven.md": "The oven bakes loaves in forty minutes.\n",
    "bees.md": "Bees dance on the comb for nectar.\n",
    "again.md": "Bees dance on the comb for the nectar.\n",
    "stone.md": "Granite is quarried in Norway.\n",
}


@pytest.fixture
def found(found_in: FoundIn) -> dict[str, PassageRef]:
    """Passage of each document of a small corpus, by document name."""
    return found_in(TEXTS, "bees oven starter granite")


def request(*candidates: CandidatePassage, **others: Any) -> AnalysisRequest:
    return AnalysisRequest(
        **{
            "run": RUN,
            "cycle": 1,
            "question": "bread and bees",
            "corpora": ("c",),
            "topics": (BREAD, BEES),
            "candidates": candidates,
            "min_relevance": 0.2,
            "min_novelty": 0.15,
            **others,
        }
    )


def candidate(passage: PassageRef, query: str = "q", topic: str = "Bread") -> CandidatePassage:
    return CandidatePassage(topic=topic, query=query, passage=passage)


def chunks(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.passage.chunk for finding in findings}


def rows(uri: str) -> list[dict[str, Any]]:
    """Return the stored findings by key."""
    stored: list[dict[str, Any]] = Store(uri).read_rows(FINDINGS, FINDINGS_SCHEMA.names).to_pylist()
    return sorted(stored, key=lambda row: str(row["key"]))


@slow
def test_relevant_and_new_candidates_are_accepted(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """Rejections are counted by query and reason; findings belong to their topic, most relevant first."""
    analysis = knowledge.retrieval.analyze_candidates(
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


@slow
def test_passage_belongs_to_the_heading_of_its_document(
    knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path
) -> None:
    """A heading in the document determines the topic, whatever the passage was found for."""
    (tmp_path / "guide.md").write_text(
        "# Guide\n\n## Ripening\n\nBread is baked and cheese ripens.\n", encoding="utf-8"
    )
    ingest(tmp_path)
    (passage,) = knowledge.retrieval.search(SearchRequest(query="bread cheese", corpora=("c",), k=5)).passages
    topics = [
        TopicState(topic=Topic(heading=heading, question="bread and cheese")) for heading in ("Baking", "ripening")
    ]

    analysis = knowledge.retrieval.analyze_candidates(request(candidate(passage, topic="Baking"), topics=tuple(topics)))

    assert [finding.topic for finding in analysis.accepted] == ["ripening"]


@slow
def test_analysis_is_idempotent(knowledge: KnowledgeBase, found: dict[str, PassageRef], uri: str) -> None:
    """Findings of the same cycle do not count as known, and each is stored once."""
    asked = request(*(candidate(passage) for passage in found.values()))
    first = knowledge.retrieval.analyze_candidates(asked)
    stored = rows(uri)

    assert knowledge.retrieval.analyze_candidates(asked) == first
    assert rows(uri) == stored
    assert {row["chunk"] for row in stored} == chunks(first.accepted)


@slow
def test_only_earlier_cycles_are_known(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """Findings of earlier cycles are known in later ones, but not in a repetition of an earlier one."""
    bees = request(candidate(found["bees"]), cycle=2)
    accepted = knowledge.retrieval.analyze_candidates(bees)
    later = knowledge.retrieval.analyze_candidates(request(candidate(found["again"]), cycle=3))
    earlier = knowledge.retrieval.analyze_candidates(request(candidate(found["again"]), cycle=1))

    assert chunks(accepted.accepted) == {found["bees"].chunk}
    assert (later.accepted, later.rejected[0].known) == ((), 1)
    assert chunks(earlier.accepted) == {found["again"].chunk}


@slow
def test_runs_are_isolated(knowledge: KnowledgeBase, found: dict[str, PassageRef], uri: str) -> None:
    """A run id that looks like an SQL condition is treated as text."""
    asked = request(candidate(found["bees"]))
    knowledge.retrieval.analyze_candidates(asked)
    hostile = asked.model_copy(update={"run": HOSTILE, "cycle": 2})

    assert chunks(knowledge.retrieval.analyze_candidates(hostile).accepted) == {found["bees"].chunk}
    assert knowledge.retrieval.analyze_candidates(hostile.model_copy(update={"cycle": 3})).accepted == ()
    assert {row["run"] for row in rows(uri)} == {RUN, HOSTILE}


@slow
def test_passage_found_twice_belongs_to_the_first_query(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A chunk is assessed once."""
    bees = found["bees"]
    analysis = knowledge.retrieval.analyze_candidates(request(candidate(bees, "first"), candidate(bees, "second")))

    assert [finding.query for finding in analysis.accepted] == ["first"]
    assert analysis.rejected == ()


@slow
def test_deleted_passages_are_omitted(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A concurrent ingestion may have replaced some or all."""
    gone = candidate(found["oven"].model_copy(update={"chunk": ChunkId("gone")}))

    assert chunks(knowledge.retrieval.analyze_candidates(request(gone, candidate(found["bees"]))).accepted) == {
        found["bees"].chunk
    }
    assert knowledge.retrieval.analyze_candidates(request(gone)).accepted == ()


def test_no_candidates_or_no_topics_accept_nothing(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """Without candidates or without topics nothing is accepted."""
    nothing = knowledge.retrieval.analyze_candidates(request())

    assert nothing == AnalysisReply(open_parts=nothing.open_parts)
    assert knowledge.retrieval.analyze_candidates(request(candidate(found["bees"]), topics=())) == AnalysisReply()


def test_parts_without_a_passage_stay_open(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A part of a topic's question is open until an accepted passage speaks of it."""
    asked = request()
    first = knowledge.retrieval.analyze_candidates(asked)
    heading = asked.topics[0].topic.heading
    later = request(
        candidate(found["bees"]),
        topics=tuple(aim.model_copy(update={"open_parts": ("bees", "volcanoes")}) for aim in asked.topics),
    )

    assert first.open_parts[heading]
    assert knowledge.retrieval.analyze_candidates(later).open_parts[heading] == ("volcanoes",)


def test_nothing_relevant_leaves_no_row(knowledge: KnowledgeBase, found: dict[str, PassageRef], uri: str) -> None:
    """A cycle that accepts nothing stores nothing."""
    analysis = knowledge.retrieval.analyze_candidates(request(candidate(found["stone"])))

    assert (analysis.accepted, rows(uri)) == ((), [])


def test_unknown_corpus_raises_an_error(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """Its baseline is unknown."""
    with pytest.raises(UnknownCorpus):
        knowledge.retrieval.analyze_candidates(request(candidate(found["bees"]), corpora=("other",)))


@slow
def test_hypothetical_answer_affects_the_topic_vector(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A hypothetical answer about stone accepts what the question alone would not."""
    asked = request(candidate(found["stone"]), topics=(BREAD,))
    topic = BREAD.topic.model_copy(update={"hypothetical_answer": "Granite is quarried in Norway."})
    imagined = BREAD.model_copy(update={"topic": topic})

    assert knowledge.retrieval.analyze_candidates(asked).accepted == ()
    assert len(knowledge.retrieval.analyze_candidates(asked.model_copy(update={"topics": (imagined,)})).accepted) == 1


@slow
def test_relevant_passages_without_a_topic_form_latent_topics(
    knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path
) -> None:
    """Similar passages that match the question but no topic form a cluster; single ones do not."""
    folder = tmp_path / "honey"
    folder.mkdir()
    for n, word in enumerate(("spring", "summer", "autumn", "frost")):
        text = f"Honey of bees is golden and sweet in {word}.\n"
        (folder / f"honey{n}.md").write_text(text, encoding="utf-8")
    (folder / "stray.md").write_text("The honey question.\n", encoding="utf-8")
    ingest(folder)
    refs = knowledge.retrieval.search(SearchRequest(query="honey golden sweet", corpora=("c",), k=50)).passages
    honey = {
        ref.chunk for ref, p in zip(refs, knowledge.corpora.load_passages(refs), strict=True) if "golden" in p.text
    }
    analysis = knowledge.retrieval.analyze_candidates(
        request(*map(candidate, refs), question="golden sweet honey of bees", topics=(BREAD,), min_relevance=0.3)
    )

    assert [{passage.chunk for passage in group} for group in analysis.latent] == [honey]
    assert analysis.accepted == ()


@slow
def test_computed_results_need_no_relevance(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """The result of a tool is accepted whatever its similarity; a found passage is not."""
    document = build_calculation_document("Sum", Calculation("1 + 1", "2", is_exact=True))
    (result,) = knowledge.results.store_result("c", "calculation: 1 + 1", document, "q")
    analysis = knowledge.retrieval.analyze_candidates(request(candidate(result), candidate(found["stone"])))

    assert chunks(analysis.accepted) == {result.chunk}


@slow
def test_what_an_answer_cites_is_accepted(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A cited passage is a finding of its topic whatever its similarity, with its relevance to the question asked."""
    passage = found["stone"].model_copy(update={"relevance": 0.7})
    cited = candidate(passage, "Where is granite quarried?").model_copy(update={"is_cited": True})
    analysis = knowledge.retrieval.analyze_candidates(request(candidate(found["stone"]), cited))

    (finding,) = analysis.accepted
    assert (finding.passage.chunk, finding.query) == (passage.chunk, "Where is granite quarried?")
    assert finding.passage.relevance == 0.7


def test_a_passage_in_another_language_keeps_the_relevance_of_its_search(
    knowledge: KnowledgeBase, found_in: FoundIn
) -> None:
    """A search by a translation found it: neither its words nor its vector resemble the question of the topic."""
    passages = found_in(
        {
            "teig.md": "Der Teig ruht zwei Stunden lang in der warmen Küche.\n",
            "stein.md": "Der Granit wird seit vielen Jahren in Norwegen gebrochen.\n",
        },
        "Teig Granit",
    )
    topic = TopicState(topic=Topic(heading="Bread", question="How long does the dough of the bread rest?"))
    near, far = (
        passages[name].model_copy(update={"relevance": value, "graph_rank": None})
        for name, value in (("teig", 0.7), ("stein", 0.1))
    )
    analysis = knowledge.retrieval.analyze_candidates(request(candidate(near), candidate(far), topics=(topic,)))

    assert [(finding.passage.chunk, finding.passage.relevance) for finding in analysis.accepted] == [(near.chunk, 0.7)]
    assert analysis.open_parts == {}
