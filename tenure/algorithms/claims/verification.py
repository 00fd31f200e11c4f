"""Verification of a text claim by claim: what is to be checked, what the checks mean, and what becomes of the rest.

A claim that consists of a quote's own words needs no check. Whatever a judge says of another one, its numbers,
dates and names have to occur in its source. What is not supported is written anew once, and then it is taken out
or marked, and the run log says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.details import unsourced
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.passages import Claim, Draft, PassageRef

SURE: Final = 0.75
"""Confidence from which an unsupported claim is taken out instead of marked."""
MOST: Final = 40
"""Claims that are checked with one call."""
_SHOWN = 160

Places = Mapping[int, Claim | None]
"""What stands in the place of claims from now on, by their position in reading order; None takes one out."""


class Settled(NamedTuple):
    """Texts whose claims have been dealt with."""

    drafts: tuple[Draft, ...]
    """The texts."""
    notes: tuple[str, ...]
    """What was taken out, and why."""


def claims_of(drafts: Sequence[Draft]) -> list[Claim]:
    """Return the claims of all texts in reading order."""
    return [claim for draft in drafts for claim in draft.claims]


def unchecked(drafts: Sequence[Draft]) -> list[int]:
    """Return the positions of claims that cite something and that nobody has checked."""
    return [n for n, claim in enumerate(claims_of(drafts)) if claim.status == "unverified" and claim.citations]


def unsupported(drafts: Sequence[Draft]) -> list[int]:
    """Return the positions of claims that are not supported."""
    return [n for n, claim in enumerate(claims_of(drafts)) if claim.status != "supported"]


def batches(positions: Sequence[int]) -> list[Sequence[int]]:
    """Return positions in groups of which each is checked with one call."""
    return [positions[first : first + MOST] for first in range(0, len(positions), MOST)]


def cited(claims: Iterable[Claim]) -> tuple[PassageRef, ...]:
    """Return the passages that claims cite, each once."""
    refs = {
        citation.chunk: PassageRef(chunk=citation.chunk, source=citation.source, score=0.0, relevance=0.0)
        for claim in claims
        for citation in claim.citations
        if citation.chunk
    }
    return tuple(refs.values())


def replaced(drafts: Sequence[Draft], places: Places) -> tuple[Draft, ...]:
    """Return the texts with other claims at some positions; blocks left empty are dropped."""
    position = iter(range(len(claims_of(drafts))))
    return tuple(_replaced(draft, places, position) for draft in drafts)


def _replaced(draft: Draft, places: Places, position: Iterable[int]) -> Draft:
    numbers = iter(position)
    blocks = []
    for block in draft.blocks:
        kept = tuple(c for claim in block.claims if (c := places.get(next(numbers), claim)) is not None)
        if kept:
            blocks.append(block.model_copy(update={"claims": kept}))
    return draft.model_copy(update={"blocks": tuple(blocks)})


def source_of(claim: Claim, passages: Sequence[Passage]) -> str:
    """Return everything that the sources of a claim say where it cites them: passages, titles, headings, quotes."""
    chunks = {citation.chunk for citation in claim.citations}
    said = [" ".join((p.title, *p.heading_path, p.text)) for p in passages if p.chunk in chunks]
    return "\n\n".join([*said, *(citation.quote for citation in claim.citations)])


def held(claim: Claim, passages: Sequence[Passage]) -> Claim:
    """Return a judged claim as its particulars allow: one with a number or name of its own is not supported."""
    if claim.status == "supported" and unsourced(claim.text, source_of(claim, passages)):
        return claim.model_copy(update={"status": "neutral", "confidence": 1.0})
    return claim


def settled(drafts: Sequence[Draft], place: str) -> Settled:
    """Take out what is refuted, cites nothing that exists or is surely not borne out; the rest stays with its mark.

    Args:
        drafts: texts whose claims were checked.
        place: name of the report's part, for the notes.
    """
    lost = [n for n, claim in enumerate(claims_of(drafts)) if _lost(claim)]
    claims = claims_of(drafts)
    notes = tuple(
        f"{place}: a claim was taken out, {_why(claims[n])}: “{shorten(claims[n].text, _SHOWN)}”" for n in lost
    )
    return Settled(replaced(drafts, dict.fromkeys(lost)), notes)


def _lost(claim: Claim) -> bool:
    sure = claim.status == "neutral" and (claim.confidence or 0.0) >= SURE
    return sure or claim.status in ("refuted", "invalid_source")


def _why(claim: Claim) -> str:
    reasons = {"refuted": "its source says otherwise", "invalid_source": "its source does not exist"}
    return reasons.get(claim.status, "its source does not bear it out")


def carried(before: Draft, after: Draft) -> Draft:
    """Return a new version of a text in which claims that stood there before keep what was found of them."""
    known = {(claim.text, claim.citations): claim for claim in before.claims}
    places = {n: known.get((claim.text, claim.citations), claim) for n, claim in enumerate(after.claims)}
    return replaced([after], places)[0]


def factuality(drafts: Sequence[Draft]) -> float:
    """Return the share of claims that are supported; 1 where nothing is claimed."""
    claims = claims_of(drafts)
    return sum(claim.status == "supported" for claim in claims) / len(claims) if claims else 1.0
