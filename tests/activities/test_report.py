"""The report activity: from a draft to the result document."""

from dataclasses import replace

from temporalio.testing import ActivityEnvironment

from activities.report import ReportActivities
from tenure.algorithms.claims.citations import cite_claim
from tenure.algorithms.claims.report_changes import select_compared_parts
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.evidence.passages import Block, Draft
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep
from tenure.contracts.research.report import ReportDraft, SectionDraft
from tenure.contracts.result.changes import ReportChanges
from tenure.contracts.result.result import ComparisonRequest, Result
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


def test_a_report_is_compared_by_the_quotes_of_the_last_one() -> None:
    """A statement whose quote its source no longer contains is replaced by the new one; the others are unchanged."""
    then = MemoryKnowledge({**KITCHEN, "bread": replace(KITCHEN["bread"], text=BREAD.replace("yeast", "honey"))})
    last, now = (_assemble(knowledge) for knowledge in (then, MemoryKnowledge(dict(KITCHEN))))
    last = last.model_copy(update={"changes": ReportChanges(at="2000-01-01T00:00:00+00:00")})
    request = ComparisonRequest(
        last=select_compared_parts(last), now=select_compared_parts(now), at="2030-01-01T00:00:00+00:00"
    )
    changes: ReportChanges = ActivityEnvironment().run(
        ReportActivities(MemoryKnowledge(dict(KITCHEN))).compare_reports,  # type: ignore[arg-type]
        request,
    )

    assert [(one.before.text, one.after.text) for one in changes.changed] == [(BREAD.replace("yeast", "honey"), BREAD)]
    assert (changes.unchanged, changes.at, changes.since_at) == (1, request.at, "2000-01-01T00:00:00+00:00")


def _assemble(knowledge: MemoryKnowledge) -> Result:
    """Return a report that quotes the first passage and the first one on cheese."""
    passages = knowledge._passages()
    numbers = [n for n, passage in enumerate(passages, 1) if passage.text == CHEESE or n == 1]
    claims = tuple(cite_claim(passages[n - 1].text, [n], passages) for n in numbers)
    draft = ReportDraft(
        id=RunId("research/food"),
        mode="RESEARCH",
        question="How is food made?",
        sections=(SectionDraft(topic="Food", draft=Draft(blocks=(Block(claims=claims),))),),
    )
    result: Result = ActivityEnvironment().run(ReportActivities(knowledge).assemble_report, draft)  # type: ignore[arg-type]
    return result
