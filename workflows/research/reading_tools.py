"""Tools that read what was found: one document, two side by side, a summary, single facts, a claim to be checked.

Each asks a role that other parts of a run ask, too, or that only a tool needs; what it says is marked by the numbers
of the passages that it rests on.
"""

from typing import Final

from temporalio import workflow

from workflows.research.toolbox import JUDGED, QUOTED, Toolbox, observed

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.research.observations import compared, quoted, stated
    from tenure.contracts.evidence.passages import PassageRef, SearchRequest
    from tenure.contracts.research.tools import (
        AnalyzeDocumentArguments,
        CiteRequest,
        CompareDocumentsArguments,
        ExtractFactsArguments,
        Observation,
        SummarizeResultsArguments,
        VerifyClaimArguments,
    )
    from tenure.roles.claims.claim_checker import ClaimCheckerInput
    from tenure.roles.claims.document_comparer import DocumentComparerInput
    from tenure.roles.claims.fact_extractor import FactExtractorInput
    from tenure.roles.writing.answerer import AnswererInput

VERDICTS: Final = {"supported": "The sources support this", "refuted": "The sources say otherwise than this"}
"""What a check of a claim found; anything else leaves it open."""

ASKED, COMPARED, SUMMARIZED, CHECKED = 12, 6, 20, 8
"""Passages of a document that is asked, of each that is compared, of a summary, and of the check of a claim."""


async def analyze_document(toolbox: Toolbox, arguments: AnalyzeDocumentArguments) -> Observation:
    """Ask one document."""
    passages = await _of_document(toolbox, toolbox.passage(arguments.passage), arguments.question, ASKED)
    return await _answered(toolbox, arguments.question, passages)


async def compare_documents(toolbox: Toolbox, arguments: CompareDocumentsArguments) -> Observation:
    """Compare two documents."""
    first, second = toolbox.passage(arguments.first), toolbox.passage(arguments.second)
    if first.source == second.source:
        return Observation(problem="both passages stand in one document: name passages of two")
    sides = [await _of_document(toolbox, one, arguments.criteria, COMPARED) for one in (first, second)]
    passages = (*sides[0], *sides[1])
    comparison = await toolbox.calls.role(
        RoleActivities.document_comparer,
        DocumentComparerInput(criteria=arguments.criteria, border=len(sides[0])),
        passages,
        summary=arguments.criteria,
    )
    lines = [compared(point, toolbox.numbers(passages)) for point in comparison.points]
    return observed(lines, passages, JUDGED, "these passages have nothing to compare in that")


async def summarize_results(toolbox: Toolbox, arguments: SummarizeResultsArguments) -> Observation:
    """Answer in short from what was seen."""
    return await _answered(toolbox, arguments.question, toolbox.chosen(arguments.passages, SUMMARIZED))


async def extract_facts(toolbox: Toolbox, arguments: ExtractFactsArguments) -> Observation:
    """List single facts of what was seen."""
    passages = toolbox.chosen(arguments.passages, SUMMARIZED)
    draft = await toolbox.calls.role(
        RoleActivities.fact_extractor,
        FactExtractorInput(question=arguments.question, kind=arguments.kind),
        passages,
        summary=arguments.question,
    )
    lines = stated(draft.claims, toolbox.numbers(passages))
    return observed(lines, passages, QUOTED, "these passages have no such facts: search, or ask for another kind")


async def verify_claim(toolbox: Toolbox, arguments: VerifyClaimArguments) -> Observation:
    """Hold a claim against what the sources say on it."""
    limits = toolbox.task.limits
    request = SearchRequest(query=arguments.claim, corpora=toolbox.task.corpora, k=CHECKED, max_per_source=2)
    passages = await toolbox.calls.search(request, limits.min_relevance, summary=arguments.claim, browse=False)
    if not passages:
        return Observation(problem="no source speaks of that: it can be neither supported nor refuted")
    cited = CiteRequest(claim=arguments.claim, passages=passages)
    claim = await toolbox.calls.cite(cited, summary=arguments.claim)
    if claim.status == "unverified":
        checked = await toolbox.calls.role(
            RoleActivities.claim_checker,
            ClaimCheckerInput(question=toolbox.task.question, claims=(claim,)),
            passages,
            summary=arguments.claim,
        )
        claim = checked.claims[0] or claim
    verdict = f"{VERDICTS.get(claim.status, 'left open')}: {claim.text}"
    lines = [verdict, *quoted(claim.citations, toolbox.numbers(passages))]
    return observed(lines, passages, claim.confidence or 0.0)


async def _of_document(toolbox: Toolbox, passage: PassageRef, question: str, k: int) -> tuple[PassageRef, ...]:
    """Return what a document says on a question: the passage that names it where it says nothing near it."""
    limits = toolbox.task.limits
    request = SearchRequest(query=question, corpora=toolbox.task.corpora, k=k, sources=(passage.source,))
    found = await toolbox.calls.search(request, limits.min_relevance, summary=question)
    return found or (passage,)


async def _answered(toolbox: Toolbox, question: str, passages: tuple[PassageRef, ...]) -> Observation:
    draft = await toolbox.calls.role(
        RoleActivities.answerer,
        AnswererInput(topic=toolbox.task.question, question=question),
        passages,
        summary=question,
    )
    sure = sum(claim.status == "supported" for claim in draft.claims) / max(len(draft.claims), 1)
    lines = stated(draft.claims, toolbox.numbers(passages))
    return observed(lines, passages, JUDGED + (QUOTED - JUDGED) * sure, "these passages do not answer that")
