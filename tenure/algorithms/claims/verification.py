"""Select the claims of a draft that need verification and apply the verdicts.

A verbatim claim needs no check, and neither do gaps and lead-ins, which state nothing of their own. A claim that a
judge supports is still demoted if details of it conflict with its sources. Unsupported claims are corrected once; then
they are removed or marked, with a log entry.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Final, NamedTuple

from tenure.algorithms.calculator.calculator import calculate
from tenure.algorithms.calculator.quantities import CalculationError
from tenure.algorithms.claims.citations import KINDS_WITH_SOURCES
from tenure.algorithms.claims.removal import remove_claims
from tenure.algorithms.text.details import find_conflicting_details
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.passages import Claim, Draft, PassageRef

MIN_REMOVAL_CONFIDENCE: Final = 0.75
"""Confidence at which an unsupported claim is removed instead of marked."""
MAX_CLAIMS_PER_CALL: Final = 40
_MAX_CHARACTERS_SHOWN = 160  # About two lines of a log.

ClaimReplacements = Mapping[int, Claim | None]
"""Replacements of claims by their index in reading order; None removes a claim."""


class ResolvedDrafts(NamedTuple):
    """Result of applying verdicts to drafts."""

    drafts: tuple[Draft, ...]
    removals: tuple[str, ...]
    """Removed claims with the reasons."""
    notes: tuple[str, ...] = ()
    """Checks that were not made."""


def list_claims(drafts: Sequence[Draft]) -> list[Claim]:
    """List the claims of all drafts in reading order."""
    return [claim for draft in drafts for claim in draft.claims]


def needs_sources(claim: Claim) -> bool:
    """Return whether a claim is checked against passages: all but gaps and lead-ins without citations."""
    return claim.kind in KINDS_WITH_SOURCES or bool(claim.citations)


def find_unchecked_claims(drafts: Sequence[Draft]) -> list[int]:
    """Return the indexes of claims that have citations and were not checked."""
    claims = enumerate(list_claims(drafts))
    return [n for n, claim in claims if claim.status == "unverified" and claim.citations]


def find_uncited_claims(drafts: Sequence[Draft]) -> list[int]:
    """Return the indexes of claims that need passages and have none."""
    claims = enumerate(list_claims(drafts))
    return [n for n, claim in claims if claim.status in ("missing_citation", "invalid_source")]


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
    numbers = count()
    replaced: list[Draft] = []
    for draft in drafts:
        blocks = []
        for block in draft.blocks:
            pairs = [(claim, replacements.get(next(numbers), claim)) for claim in block.claims]
            if claims := tuple(keep_place(before, after) for before, after in pairs if after is not None):
                blocks.append(block.model_copy(update={"claims": claims}))
        replaced.append(draft.model_copy(update={"blocks": tuple(blocks)}))
    return tuple(replaced)


def keep_place(before: Claim, after: Claim) -> Claim:
    """Return a replacement of a claim with its row, its column and, unless the replacement names another, its kind."""
    kind = before.kind if after.kind == "fact" else after.kind
    return after.model_copy(update={"kind": kind, "label": before.label, "column": before.column})


def list_source_texts(claim: Claim, passages: Sequence[Passage]) -> list[str]:
    """Return all source text of a claim: titles, headings and text of its cited passages, and its quotes."""
    chunks = {citation.chunk for citation in claim.citations}
    texts = [_join_texts(p) for p in passages if p.chunk in chunks]
    return [*texts, *(citation.quote for citation in claim.citations)]


def _join_texts(passage: Passage) -> str:
    """Return the text of a passage and its names: release notes often name their version in that of the file only."""
    names = (passage.title, passage.uri.rpartition("/")[2], passage.published, *passage.heading_path)
    return " ".join((*names, passage.text))


# "46 × 45 / 2 = 1,035"
_EQUATION = re.compile(r"(?<![\w.,])([\d(][\d\s.,()+\-−–*×/÷]{2,80})=\s?\d")


def _list_results(text: str) -> list[str]:
    """Return the results of the calculations that a text shows."""
    results: list[str] = []
    for expression in _EQUATION.findall(text):
        try:
            results.append(calculate(expression.replace(",", "")).result)
        except CalculationError:
            continue  # no calculation, such as the rest of a date
    return results


def list_conflicts(claim: Claim, passages: Sequence[Passage], question: str) -> tuple[str, ...]:
    """Return the details of a claim that its sources do not support, and that the question does not name either.

    A conclusion rests on everything that its author has read, so its names and numbers may come from any passage. The
    names of a row and of a column are words of the author, which no passage has to contain; their figures are in what
    the author read. Code that the author has put together has names and values of its own.
    """
    if claim.kind == "inference" and "\n" in claim.text:
        return ()
    read = [_join_texts(passage) for passage in passages]
    is_cell = bool(claim.column)
    stated = f"{claim.label}: {claim.text}" if claim.label and not is_cell else claim.text
    asked_texts = (question, *_list_results(stated))
    sources = [*list_source_texts(claim, passages), *asked_texts, *(read if claim.kind == "inference" else ())]
    conflicts = find_conflicting_details(stated, sources, read)
    of_names = find_conflicting_details(f"{claim.label} {claim.column}", read, read) if is_cell else ()
    return (*conflicts, *(detail for detail in of_names if any(map(str.isdigit, detail)) and detail not in conflicts))


def demote_unsourced_claim(claim: Claim, passages: Sequence[Passage], question: str) -> Claim:
    """Return a claim, as `neutral` if it was supported although its details conflict with its sources.

    Details of the question are no inventions: a recommendation for its 30 days or its three nodes names them.
    """
    if claim.status == "supported" and needs_sources(claim) and list_conflicts(claim, passages, question):
        return claim.model_copy(update={"status": "neutral", "confidence": 1.0})
    return claim


def remove_unsupported_claims(drafts: Sequence[Draft], part: str) -> ResolvedDrafts:
    """Remove claims that are refuted, cite no existing source or are unsupported with high confidence.

    Other claims keep their status.
    """
    removed = {
        n: claim
        for n, claim in enumerate(list_claims(drafts))
        if claim.status in ("refuted", "invalid_source")
        or (claim.status == "neutral" and (claim.confidence or 0.0) >= MIN_REMOVAL_CONFIDENCE)
    }
    notes = tuple(describe_removal(claim, part) for claim in removed.values())
    return ResolvedDrafts(remove_claims(drafts, removed), notes)


def describe_removal(claim: Claim, part: str) -> str:
    """Return a note on a removed claim of a part of the report."""
    reasons = {"refuted": "its source contradicts it", "invalid_source": "its source does not exist"}
    reason = reasons.get(claim.status, "its source does not support it")
    return f"{part}: a claim was removed, {reason}: “{shorten(claim.statement, _MAX_CHARACTERS_SHOWN)}”"
