"""Verification in a workflow: check, write anew once, check what is new, settle (document 003 §2.3.3).

Claims that are their own quotes cost nothing: a text of such claims makes no call.
"""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.runtime.calls import Calls
from workflows.runtime.failures import cause

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.claims import verification
    from tenure.algorithms.claims.verification import Settled
    from tenure.contracts.evidence.passages import Draft, PassageRef
    from tenure.roles.claims.claim_checker import ClaimCheckerInput
    from tenure.roles.claims.claim_rewriter import ClaimRewriterInput


async def verified(
    calls: Calls,
    question: str,
    drafts: Sequence[Draft],
    evidence: Sequence[PassageRef],
    place: str,
    *,
    closing: bool = False,
) -> Settled:
    """Check every claim of some texts, and let nothing stand that does not hold.

    Args:
        calls: of the workflow.
        question: of the whole report.
        drafts: the texts, in reading order.
        evidence: what a claim may be written anew from.
        place: name of the report's part.
        closing: whether the report is being written up.
    """
    texts = tuple(drafts)
    try:
        texts = await _checked(calls, question, texts, place, closing)
        rewritten = await _rewritten(calls, question, texts, evidence, place, closing)
        if rewritten != texts:
            texts = await _checked(calls, question, rewritten, f"{place}, written anew", closing)
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        settled = verification.settled(texts, place)
        return settled._replace(notes=(*settled.notes, f"{place}: not every claim was checked: {cause(error)}"))
    return verification.settled(texts, place)


async def _checked(
    calls: Calls, question: str, texts: tuple[Draft, ...], place: str, closing: bool
) -> tuple[Draft, ...]:
    for batch in verification.batches(verification.unchecked(texts)):
        known = verification.claims_of(texts)
        claims = tuple(known[n] for n in batch)
        answer = await calls.role(
            RoleActivities.claim_checker,
            ClaimCheckerInput(question=question, claims=claims),
            verification.cited(claims),
            summary=f"{place}: {len(claims)} claim(s)",
            closing=closing,
        )
        texts = verification.replaced(texts, dict(zip(batch, answer.claims, strict=True)))
    return texts


async def _rewritten(
    calls: Calls,
    question: str,
    texts: tuple[Draft, ...],
    evidence: Sequence[PassageRef],
    place: str,
    closing: bool,
) -> tuple[Draft, ...]:
    """Write what does not hold anew, as many claims as one call takes."""
    positions = verification.unsupported(texts)[: verification.MOST]
    if not positions or not evidence:
        return texts
    known = verification.claims_of(texts)
    answer = await calls.role(
        RoleActivities.claim_rewriter,
        ClaimRewriterInput(
            question=question,
            topic=place,
            claims=tuple(known[n] for n in positions),
            said=tuple(claim.text for n, claim in enumerate(known) if n not in positions),
        ),
        evidence,
        summary=f"{place}: {len(positions)} claim(s)",
        closing=closing,
    )
    return verification.replaced(texts, dict(zip(positions, answer.claims, strict=True)))
