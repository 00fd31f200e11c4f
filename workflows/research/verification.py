"""Verify drafts: check and correct claims in one call, judge corrections without a model, remove unsupported claims.

A claim with the words of its quote needs no model call, and neither do gaps and lead-ins.
"""

import asyncio
from collections.abc import Sequence

from temporalio import workflow

from workflows.runtime.clients import ActivityClients
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.claims import verification
    from tenure.algorithms.claims.removal import remove_claims
    from tenure.algorithms.claims.verification import ResolvedDrafts
    from tenure.algorithms.writing.manuscript import add_new_passages
    from tenure.contracts.evidence.passages import Claim, Draft, PassageRef
    from tenure.roles.claims import claim_checker
    from tenure.roles.claims.claim_checker import ClaimCheckerInput

MAX_OTHER_PASSAGES = 12
"""Maximum number of passages from which a claim without any source may be corrected."""


async def verify_drafts(
    clients: ActivityClients,
    question: str,
    drafts: Sequence[Draft],
    evidence: Sequence[PassageRef],
    part: str,
    *,
    for_writing: bool = False,
    is_reviewed: bool = False,
    written_by_model: bool = False,
) -> ResolvedDrafts:
    """Check every claim of drafts, correct unsupported ones, and remove what stays unsupported.

    A claim without a source may cite the evidence once it is corrected. If a reviewer has seen the drafts, only its own
    unchecked sentences are left. If a model wrote them, the fallback removes only what is probably wrong.
    """
    checked = tuple(drafts)
    checking = _check_claims(
        clients,
        question,
        checked,
        () if is_reviewed else evidence,
        part,
        for_writing=for_writing,
        written_by_model=written_by_model,
    )
    notes: list[str] = []
    failure = f"{part}: not every claim was checked"
    checked = await run_optional_step(checking, checked, failure, notes.append, MODEL_STEP_LIMIT)
    resolved = verification.remove_unsupported_claims(checked, part)
    return resolved._replace(notes=tuple(notes))


async def _check_claims(
    clients: ActivityClients,
    question: str,
    drafts: tuple[Draft, ...],
    evidence: Sequence[PassageRef],
    part: str,
    *,
    for_writing: bool,
    written_by_model: bool,
) -> tuple[Draft, ...]:
    """Check and correct claims; those without a source only if there is other evidence for them."""
    all_claims = verification.list_claims(drafts)
    uncited = verification.find_uncited_claims(drafts) if evidence else []
    positions = sorted({*verification.find_unchecked_claims(drafts), *uncited})
    checked: dict[int, Claim | None] = {}
    others = tuple(
        claim.statement
        for n, claim in enumerate(all_claims)
        if n not in set(positions) and not (claim.kind == "gap" and claim.label)
    )

    async def check(batch: Sequence[int]) -> None:
        claims = tuple(all_claims[n] for n in batch)
        cited = verification.list_cited_passages(claims)
        needs_more = any(not claim.citations for claim in claims)
        output = await clients.models.ask(
            claim_checker.ROLE,
            ClaimCheckerInput(
                question=question,
                claims=claims,
                other_sentences=others,
                written_by_model=written_by_model,
            ),
            add_new_passages(cited, evidence[:MAX_OTHER_PASSAGES]) if needs_more else cited,
            summary=f"{part}: {len(claims)} claim(s)",
            for_writing=for_writing,
        )
        checked.update(zip(batch, output.claims, strict=True))

    await asyncio.gather(*map(check, verification.split_batches(positions)))
    removed = {n for n, claim in checked.items() if claim is None}
    corrected = {n: claim for n, claim in checked.items() if claim is not None}
    return remove_claims(verification.replace_claims(drafts, corrected), removed)
