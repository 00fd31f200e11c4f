"""The tool `verify_claim`: check one sentence against the sources."""

from collections.abc import Mapping
from typing import Final

from activities.tools import ToolActivities
from tenure.algorithms.research.observations import format_quotes
from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.passages import Claim, SearchRequest
from tenure.contracts.research.tools import CiteReply, CiteRequest, Observation, ShortText, ToolArguments
from tenure.roles.claims import claim_checker
from tenure.roles.claims.claim_checker import ClaimCheckerInput
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext, observe_lines

MAX_PASSAGES = 8
"""Passages that the claim is checked against."""

SUPPORTED: Final = "A source supports this"
REFUTED: Final = "A source says otherwise than this"
DISPUTED: Final = "Left open, since sources say this and its contrary"
OPEN: Final = "Left open by the passages that were found"
OPEN_BY_WORDS: Final = "Left open, since no passage that was found says this or denies it in the same words"
"""Verdict without a model, which reads no paraphrase."""


class VerifyClaimArguments(ToolArguments):
    """Arguments of `verify_claim`."""

    claim: ShortText
    """One sentence that states one thing."""


async def verify_claim(context: ToolContext, arguments: VerifyClaimArguments) -> Observation:
    """Search for a claim and check it against what is found; only a claim that no sentence states needs a model."""
    request = SearchRequest(query=arguments.claim, corpora=context.task.corpora, k=MAX_PASSAGES, max_per_source=2)
    passages = await context.clients.knowledge.search(request, browse=False)
    if not passages:
        return Observation(problem="no passage was found for this: it can be neither supported nor refuted")
    cited = await context.clients.execute_activity(
        ToolActivities.cite_claim, CiteRequest(claim=arguments.claim, passages=passages), summary=arguments.claim
    )
    numbers = context.get_passage_numbers(passages)
    if cited.supporting and not cited.refuting:
        lines = [f"{SUPPORTED}: {arguments.claim}", *format_quotes(cited.supporting, numbers)]
        return observe_lines(lines, passages, 1.0)
    checked = await context.clients.models.ask(
        claim_checker.ROLE,
        ClaimCheckerInput(question=context.task.question, claims=(cited.claim,), may_correct=False),
        passages,
        summary=arguments.claim,
    )
    claim = checked.claims[0] or cited.claim
    open_verdict = OPEN if context.task.limits.has_model else OPEN_BY_WORDS
    return observe_lines(_describe(claim, cited, numbers, open_verdict), passages, claim.confidence or 0.0)


def _describe(claim: Claim, cited: CiteReply, numbers: Mapping[ChunkId, int], open_verdict: str) -> list[str]:
    """Return the verdict on a claim with its quotes; quotes for and against it are labelled."""
    if claim.status == "supported":
        return [f"{SUPPORTED}: {claim.text}", *format_quotes(claim.citations, numbers)]
    if claim.status == "refuted":
        return [f"{REFUTED}: {claim.text}", *format_quotes(cited.refuting or claim.citations, numbers)]
    if cited.supporting:
        sides = (("For", cited.supporting), ("Against", cited.refuting))
        quotes = (f"{side}: {quote}" for side, citations in sides for quote in format_quotes(citations, numbers))
        return [f"{DISPUTED}: {claim.text}", *quotes]
    return [f"{open_verdict}: {claim.text}", *format_quotes(claim.citations, numbers)]


TOOL = Tool(
    name="verify_claim",
    description="Checks one sentence against the sources: supported, refuted or left open, and by which passages.",
    arguments=VerifyClaimArguments,
    bounds="8 passages; one search and one model call",
    use=verify_claim,
)
