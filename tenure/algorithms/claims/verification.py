"""Select the claims of a draft that need verification and apply the verdicts.

A verbatim claim needs no check. A claim that a judge supports is still demoted if one of its numbers, dates or names
does not occur in its source. Unsupported claims are rewritten once; then they are removed or marked, with a log entry.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.claims.citations import KINDS_WITH_SOURCES
from tenure.algorithms.text.details import find_unsupported_details
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.passages import Claim, Draft, PassageRef

MIN_REMOVAL_CONFIDENCE: Final = 0.75
"""Confidence at which an unsupported claim is removed instead of marked."""
MAX_CLAIMS_PER_CALL: Final = 40
"""Maximum claims that one model call checks."""
_MAX_CHARACTERS_SHOWN = 160

ClaimReplacements = Mapping[int, Claim | None]
"""Replacements of claims by their index in reading order; None removes a claim."""


class ResolvedDrafts(NamedTuple):
    """Result of applying verdicts to drafts."""

    drafts: tuple[Draft, ...]
    """The drafts."""
    notes: tuple[str, ...]
    """Removed claims with the reasons."""


def list_claims(drafts: Sequence[Draft]) -> list[Claim]:
    """List the claims of all drafts in reading order."""
    return [claim for draft in drafts for claim in draft.claims]


def find_unchecked_claims(drafts: Sequence[Draft]) -> list[int]:
    """Return the indexes of claims that have citations and were not checked."""
    return [n for n, claim in enumerate(list_claims(drafts)) if claim.status == "unverified" and claim.citations]


def find_unsupported_claims(drafts: Sequence[Draft]) -> list[int]:
    """Return the indexes of claims that need passages and are not supported."""
    return [
        n
        for n, claim in enumerate(list_claims(drafts))
        if claim.status != "supported" and (claim.citations or claim.kind in KINDS_WITH_SOURCES)
    ]


def split_batches(positions: Sequence[int]) -> list[Sequence[int]]:
    """Split indexes into batches, one per model call."""
    return [positions[first : first + MAX_CLAIMS_PER_CALL] for first in range(0, len(positions), MAX_CLAIMS_PER_CALL)]


def list_cited_passages(claims: Iterable[Claim]) -> tuple[PassageRef, ...]:
    """List the passages that claims cite, without duplicates."""
    refs = {
        citation.chunk: PassageRef(chunk=citation.chunk, source=citation.source, score=0.0, relevance=0.0)
        for claim in claims
        for citation in claim.citations
        if citation.chunk
    }
    return tuple(refs.values())


def replace_claims(drafts: Sequence[Draft], replacements: ClaimReplacements) -> tuple[Draft, ...]:
    """Replace or remove claims by index; empty blocks are dropped."""
    position = iter(range(len(list_claims(drafts))))
    return tuple(_replace_in_draft(draft, replacements, position) for draft in drafts)


def _replace_in_draft(draft: Draft, replacements: ClaimReplacements, position: Iterable[int]) -> Draft:
    numbers = iter(position)
    blocks = []
    for block in draft.blocks:
        kept = tuple(
            keep_place(claim, c) for claim in block.claims if (c := replacements.get(next(numbers), claim)) is not None
        )
        if kept:
            blocks.append(block.model_copy(update={"claims": kept}))
    return draft.model_copy(update={"blocks": tuple(blocks)})


def keep_place(before: Claim, after: Claim) -> Claim:
    """Return a replacement of a claim with its row, its column and, unless the replacement names another, its kind."""
    kind = before.kind if after.kind == "fact" else after.kind
    return after.model_copy(update={"kind": kind, "label": before.label, "column": before.column})


def join_source_texts(claim: Claim, passages: Sequence[Passage]) -> str:
    """Return all source text of a claim: titles, headings and text of its cited passages, and its quotes."""
    chunks = {citation.chunk for citation in claim.citations}
    texts = [" ".join((p.title, *p.heading_path, p.text)) for p in passages if p.chunk in chunks]
    return "\n\n".join([*texts, *(citation.quote for citation in claim.citations)])


def demote_unsourced_claim(claim: Claim, passages: Sequence[Passage]) -> Claim:
    """Return a claim, as `neutral` if it was supported but has a number, date or name that its source lacks."""
    if claim.status == "supported" and find_unsupported_details(claim.text, join_source_texts(claim, passages)):
        return claim.model_copy(update={"status": "neutral", "confidence": 1.0})
    return claim


def remove_unsupported_claims(drafts: Sequence[Draft], part: str) -> ResolvedDrafts:
    """Remove claims that are refuted, cite no existing source or are unsupported with high confidence.

    Other claims keep their status.

    Args:
        drafts: drafts with checked claims.
        part: name of the part of the report, for the notes.
    """
    removed = [n for n, claim in enumerate(list_claims(drafts)) if _is_removed(claim)]
    claims = list_claims(drafts)
    notes = tuple(
        f"{part}: a claim was removed, {_explain_removal(claim)}: “{shorten(claim.statement, _MAX_CHARACTERS_SHOWN)}”"
        for claim in (claims[n] for n in removed)
    )
    return ResolvedDrafts(replace_claims(drafts, dict.fromkeys(removed)), notes)


def _is_removed(claim: Claim) -> bool:
    is_clearly_unsupported = claim.status == "neutral" and (claim.confidence or 0.0) >= MIN_REMOVAL_CONFIDENCE
    return is_clearly_unsupported or claim.status in ("refuted", "invalid_source")


def _explain_removal(claim: Claim) -> str:
    reasons = {"refuted": "its source contradicts it", "invalid_source": "its source does not exist"}
    return reasons.get(claim.status, "its source does not support it")


def keep_verdicts(before: Draft, after: Draft) -> Draft:
    """Return a new version of a draft in which unchanged claims keep their verdicts."""
    checked = {(claim.statement, claim.citations): claim for claim in before.claims}
    replacements = {n: checked.get((claim.statement, claim.citations), claim) for n, claim in enumerate(after.claims)}
    return replace_claims([after], replacements)[0]


def compute_factuality(drafts: Sequence[Draft]) -> float | None:
    """Return the share of supported claims; None if there are no claims that need passages.

    A tainted claim does not count as supported: the text that taints it may have asked for the verdict.
    """
    claims = [claim for claim in list_claims(drafts) if claim.citations or claim.kind in KINDS_WITH_SOURCES]
    supported = sum(claim.status == "supported" and not claim.tainted for claim in claims)
    return supported / len(claims) if claims else None
