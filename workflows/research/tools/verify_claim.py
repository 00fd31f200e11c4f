"""The tool `verify_claim`: check one sentence against the sources."""

from typing import Final

from activities.tools import ToolActivities
from tenure.algorithms.research.observations import format_quotes
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.research.tools import CiteRequest, Observation, ShortText, ToolArguments
from tenure.roles.claims import claim_checker
from tenure.roles.claims.claim_checker import ClaimCheckerInput
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext, observe_lines

MAX_PASSAGES = 8
"""Passages that the claim is checked against."""

VERDICTS: Final = {"supported": "The sources support this", "refuted": "The sources say otherwise than this"}
"""Texts of the verdicts; every other verdict leaves the claim open."""


class VerifyClaimArguments(ToolArguments):
    """Arguments of `verify_claim`."""

    claim: ShortText
    """One sentence that states one thing."""


async def verify_claim(context: ToolContext, arguments: VerifyClaimArguments) -> Observation:
    """Search for a claim and check it against what is found; only a claim that is no quote needs a model."""
    limits = context.task.limits
    request = SearchRequest(query=arguments.claim, corpora=context.task.corpora, k=MAX_PASSAGES, max_per_source=2)
    passages = await context.clients.knowledge.search(
        request, limits.min_relevance, summary=arguments.claim, browse=False
    )
    if not passages:
        return Observation(problem="no source speaks of that: it can be neither supported nor refuted")
    claim = await context.clients.execute_activity(
        ToolActivities.cite_claim, CiteRequest(claim=arguments.claim, passages=passages), summary=arguments.claim
    )
    if claim.status == "unverified":
        checked = await context.clients.models.ask(
            claim_checker.ROLE,
            ClaimCheckerInput(question=context.task.question, claims=(claim,), may_correct=False),
            passages,
            summary=arguments.claim,
        )
        claim = checked.claims[0] or claim
    verdict = f"{VERDICTS.get(claim.status, 'left open')}: {claim.text}"
    lines = [verdict, *format_quotes(claim.citations, context.get_passage_numbers(passages))]
    return observe_lines(lines, passages, claim.confidence or 0.0)


TOOL = Tool(
    name="verify_claim",
    description="Checks one sentence against the sources: supported, refuted or left open, and by which passages.",
    arguments=VerifyClaimArguments,
    bounds="8 passages; one search and one model call",
    use=verify_claim,
)
