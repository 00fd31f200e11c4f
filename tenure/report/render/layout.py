"""Split claims into paragraphs and lists of runs that share one citation mark.

Consecutive sentences of a paragraph that cite the same sources share the mark at the end of their run; every bullet
has its own. Markdown, HTML and PDF use the same layout.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from tenure.contracts.result.result import ResultClaim, Synthesis


class ClaimRun(NamedTuple):
    """Sentences that share a citation mark."""

    claims: tuple[ResultClaim, ...]
    """The sentences."""
    sources: tuple[int, ...]
    """Numbers of their sources in ascending order; empty if they cite nothing."""


class LayoutBlock(NamedTuple):
    """Paragraph or bulleted list."""

    kind: Literal["paragraph", "bullets"]
    """Paragraph or list."""
    runs: tuple[ClaimRun, ...]
    """Its runs; in a list one for each bullet."""


def split_into_blocks(claims: Sequence[ResultClaim]) -> Iterator[LayoutBlock]:
    """Yield the paragraphs and lists of claims."""
    for kind, block in groupby(_number_blocks(claims), key=lambda placed: placed[0]):
        of_block = [claim for _, claim in block]
        if kind < 0:
            yield LayoutBlock("bullets", tuple(make_claim_run([claim]) for claim in of_block))
        else:
            runs = groupby(of_block, key=_sources)
            yield LayoutBlock("paragraph", tuple(make_claim_run(list(claims)) for _, claims in runs))


def split_synthesis(synthesis: Synthesis) -> dict[str, tuple[ResultClaim, ...]]:
    """Return the non-empty parts of Situation, Complication and Resolution with their claims."""
    first, second, _ = synthesis.sentences
    parts = {
        "Situation": synthesis.claims[:first],
        "Complication": synthesis.claims[first : first + second],
        "Resolution": synthesis.claims[first + second :],
    }
    return {name: claims for name, claims in parts.items() if claims}


def _number_blocks(claims: Iterable[ResultClaim]) -> Iterator[tuple[int, ResultClaim]]:
    """Yield each claim with the number of its block: negative for a list, which continues from bullet to bullet."""
    number, listed = 0, False
    for claim in claims:
        bullet = claim.begins == "bullet"
        if claim.begins == "paragraph" or bullet != listed:
            number += 1
        listed = bullet
        yield (-number if bullet else number), claim


def make_claim_run(claims: Sequence[ResultClaim]) -> ClaimRun:
    """Return sentences that share the sources of the first one as a run."""
    return ClaimRun(tuple(claims), _sources(claims[0]))


def _sources(claim: ResultClaim) -> tuple[int, ...]:
    return tuple(sorted({citation.source for citation in claim.citations}))
