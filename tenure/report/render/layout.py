"""How claims stand on the page: paragraphs and lists of runs that share one citation mark.

Consecutive sentences of a paragraph that rest on the same sources share the mark at the end of their
run; every bullet carries its own. Markdown, HTML and PDF all read the same layout.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from tenure.contracts.result.result import ResultClaim, Synthesis


class Run(NamedTuple):
    """Sentences that share a mark."""

    claims: tuple[ResultClaim, ...]
    """The sentences."""
    sources: tuple[int, ...]
    """Numbers of the sources they rest on, each once, in ascending order; empty where they cite nothing."""


class Passage(NamedTuple):
    """A paragraph, or a bulleted list."""

    kind: Literal["paragraph", "bullets"]
    """Which of the two."""
    runs: tuple[Run, ...]
    """Its runs; in a list one for each bullet."""


def passages(claims: Sequence[ResultClaim]) -> Iterator[Passage]:
    """Yield the paragraphs and lists that claims make up."""
    for kind, block in groupby(_numbered(claims), key=lambda placed: placed[0]):
        of_block = [claim for _, claim in block]
        if kind < 0:
            yield Passage("bullets", tuple(run([claim]) for claim in of_block))
        else:
            runs = groupby(of_block, key=_sources)
            yield Passage("paragraph", tuple(run(list(claims)) for _, claims in runs))


def parted(synthesis: Synthesis) -> dict[str, tuple[ResultClaim, ...]]:
    """Return the claims of Situation, Complication and Resolution, those parts that have some."""
    first, second, _ = synthesis.sentences
    parts = {
        "Situation": synthesis.claims[:first],
        "Complication": synthesis.claims[first : first + second],
        "Resolution": synthesis.claims[first + second :],
    }
    return {name: claims for name, claims in parts.items() if claims}


def _numbered(claims: Iterable[ResultClaim]) -> Iterator[tuple[int, ResultClaim]]:
    """Yield each claim with the number of its block: below 0 for a list, which goes on from bullet to bullet."""
    number, listed = 0, False
    for claim in claims:
        bullet = claim.begins == "bullet"
        if claim.begins == "paragraph" or bullet != listed:
            number += 1
        listed = bullet
        yield (-number if bullet else number), claim


def run(claims: Sequence[ResultClaim]) -> Run:
    """Return sentences that share the sources of the first one as a run."""
    return Run(tuple(claims), _sources(claims[0]))


def _sources(claim: ResultClaim) -> tuple[int, ...]:
    return tuple(sorted({citation.source for citation in claim.citations}))
