"""Verify drafts: check every claim, rewrite unsupported ones once, check the rewrites, remove what is not supported.

A claim that is a quote of its source needs no model call.
"""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.runtime.clients import ActivityClients
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.claims import verification
    from tenure.algorithms.claims.verification import ResolvedDrafts
    from tenure.contracts.evidence.passages import Draft, PassageRef
    from tenure.roles.claims import claim_checker, claim_rewriter
    from tenure.roles.claims.claim_checker import ClaimCheckerInput
    from tenure.roles.claims.claim_rewriter import ClaimRewriterInput


async def verify_drafts(
    clients: ActivityClients,
    question: str,
    drafts: Sequence[Draft],
    evidence: Sequence[PassageRef],
    part: str,
    *,
    for_writing: bool = False,
) -> ResolvedDrafts:
    """Check every claim of drafts and remove unsupported ones.

    Args:
        clients: clients of the workflow.
        question: question of the whole report.
        drafts: the drafts, in reading order.
        evidence: passages that a rewritten claim may cite.
        part: name of the part of the report, for notes and summaries.
        for_writing: whether calls may use the budget that is held back for writing the report.
    """
    checked = tuple(drafts)
    try:
        checked = await _check_claims(clients, question, checked, part, for_writing)
        rewritten = await _rewrite_claims(clients, question, checked, evidence, part, for_writing)
        if rewritten != checked:
            checked = await _check_claims(clients, question, rewritten, f"{part}, rewritten", for_writing)
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        resolved = verification.remove_unsupported_claims(checked, part)
        note = f"{part}: not every claim was checked: {describe_failure(error)}"
        return resolved._replace(notes=(*resolved.notes, note))
    return verification.remove_unsupported_claims(checked, part)


async def _check_claims(
    clients: ActivityClients, question: str, drafts: tuple[Draft, ...], part: str, for_writing: bool
) -> tuple[Draft, ...]:
    for batch in verification.split_batches(verification.find_unchecked_claims(drafts)):
        known = verification.list_claims(drafts)
        claims = tuple(known[n] for n in batch)
        output = await clients.models.ask(
            claim_checker.ROLE,
            ClaimCheckerInput(question=question, claims=claims),
            verification.list_cited_passages(claims),
            summary=f"{part}: {len(claims)} claim(s)",
            for_writing=for_writing,
        )
        drafts = verification.replace_claims(drafts, dict(zip(batch, output.claims, strict=True)))
    return drafts


async def _rewrite_claims(
    clients: ActivityClients,
    question: str,
    drafts: tuple[Draft, ...],
    evidence: Sequence[PassageRef],
    part: str,
    for_writing: bool,
) -> tuple[Draft, ...]:
    """Rewrite unsupported claims, as many as one call takes."""
    positions = verification.find_unsupported_claims(drafts)[: verification.MAX_CLAIMS_PER_CALL]
    if not positions or not evidence:
        return drafts
    known = verification.list_claims(drafts)
    output = await clients.models.ask(
        claim_rewriter.ROLE,
        ClaimRewriterInput(
            question=question,
            topic=part,
            claims=tuple(known[n] for n in positions),
            other_sentences=tuple(claim.text for n, claim in enumerate(known) if n not in positions),
        ),
        evidence,
        summary=f"{part}: {len(positions)} claim(s)",
        for_writing=for_writing,
    )
    return verification.replace_claims(drafts, dict(zip(positions, output.claims, strict=True)))
