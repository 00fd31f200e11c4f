"""The report activity: from a draft to the result document."""

from temporalio.testing import ActivityEnvironment

from activities.report import ReportActivities
from tenure.algorithms.claims.citations import cite_claim
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.evidence.passages import Block, Draft
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep
from tenure.contracts.research.report import ReportDraft, SectionDraft
from tenure.contracts.result.result import Result
from tests.support.worlds import KITCHEN, MemoryKnowledge

BREAD = "Bread is made from flour, water, salt and yeast."
CHEESE = "Cheese is made from milk that rennet has curdled."


def test_sources_are_numbered_and_quotes_checked() -> None:
    """Each cited source is loaded once; a quote that its source does not contain is removed."""
    knowledge = MemoryKnowledge(dict(KITCHEN))
    passages = knowledge._passages()
    bread, cheese = cite_claim(BREAD, [1], passages), cite_claim(CHEESE, [4], passages)
    forged = cheese.model_copy(update={"citations": (cheese.citations[0].model_copy(update={"quote": "Gold."}),)})
    draft = ReportDraft(
        id=RunId("research/food"),
        mode="RESEARCH",
        question="How is food made?",
        abstract=Draft(blocks=(Block(claims=(bread,)),)),
        sections=(SectionDraft(topic="Food", draft=Draft(blocks=(Block(claims=(bread, cheese, forged)),))),),
    )

    result: Result = ActivityEnvironment().run(ReportActivities(knowledge).assemble_report, draft)  # type: ignore[arg-type]

    assert [(source.n, source.id) for source in result.sources] == [(1, SourceId("bread")), (2, SourceId("cheese"))]
    assert [len(claim.citations) for claim in result.sections[0].claims] == [1, 1, 0]
    assert result.status == "done"


def test_a_source_that_only_the_reasoning_cites_is_loaded() -> None:
    """Quotes of a line of reasoning are kept if no section cites their source."""
    knowledge = MemoryKnowledge(dict(KITCHEN))
    bread, cheese = (cite_claim(text, [n], knowledge._passages()) for text, n in ((BREAD, 1), (CHEESE, 4)))
    draft = ReportDraft(
        id=RunId("research/food"),
        mode="RESEARCH",
        question="How is food made?",
        abstract=Draft(blocks=(Block(claims=(bread,)),)),
        reasoning=Reasoning(strategy="chain", conclusion=ReasoningStep(kind="answer", claim=cheese), confidence=0.9),
    )

    result: Result = ActivityEnvironment().run(ReportActivities(knowledge).assemble_report, draft)  # type: ignore[arg-type]

    assert [source.id for source in result.sources] == [SourceId("bread"), SourceId("cheese")]
    assert result.reasoning is not None and result.reasoning.conclusion is not None
    assert [citation.source for citation in result.reasoning.conclusion.claim.citations] == [2]
    assert result.notes == ()
