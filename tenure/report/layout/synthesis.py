"""Divide a synthesis into its parts, and decide which of them a report shows where."""

from collections.abc import Mapping
from itertools import accumulate
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from tenure.contracts.result.result import ResultClaim, Synthesis

SynthesisPart = Literal["situation", "complication", "resolution", "gaps", "comparison"]
SYNTHESIS_PARTS: tuple[SynthesisPart, ...] = get_args(SynthesisPart)
"""Parts of a synthesis in the order of its claims."""

WHAT_FOLLOWS, NOT_KNOWN, COMPARISON = "What follows", "What is not known", "Comparison"
"""Headings of the conclusions, of the gaps and of the comparison of a synthesis."""

SYNTHESIS_HEADINGS: Mapping[SynthesisPart, str] = {
    "situation": "Situation",
    "complication": "Complication",
    "resolution": "Resolution",
    "gaps": NOT_KNOWN,
    "comparison": COMPARISON,
}
"""Names of the parts of a synthesis in notes and lists."""

CLOSING_NOTES = {
    WHAT_FOLLOWS: "Conclusions of this report, not statements of a source; the marks name the passages they rest on.",
    NOT_KNOWN: "Questions that the sources that were read leave open.",
}
"""Remarks below the headings of the parts that close a report."""


class SynthesisLayout(NamedTuple):
    """Parts of a synthesis by their places in a report, each with its heading."""

    comparison: tuple[ResultClaim, ...] = ()
    """Table before the sections."""
    parts: Mapping[str, tuple[ResultClaim, ...]] = MappingProxyType({})
    """Parts of a synthesis without recommendations and gaps, shown as a synthesis after the sections."""
    closing: Mapping[str, tuple[ResultClaim, ...]] = MappingProxyType({})
    """Conclusions and gaps after the sections."""
    background: Mapping[str, tuple[ResultClaim, ...]] = MappingProxyType({})
    """Parts that the conclusions are drawn from, which readers find with the steps of the reasoning."""


def order_synthesis(synthesis: Synthesis | None) -> SynthesisLayout:
    """Return the places of the parts of a synthesis; without recommendations and gaps it is one part of the report."""
    parts = split_synthesis(synthesis) if synthesis else {}
    first = {part.capitalize(): parts[part] for part in ("situation", "complication") if part in parts}
    resolution, gaps = parts.get("resolution", ()), parts.get("gaps", ())
    if not gaps and not any(claim.kind == "inference" for claim in resolution):
        shown = first | ({"Resolution": resolution} if resolution else {})
        return SynthesisLayout(parts.get("comparison", ()), parts=shown)
    closing = {name: claims for name, claims in ((WHAT_FOLLOWS, resolution), (NOT_KNOWN, gaps)) if claims}
    return SynthesisLayout(parts.get("comparison", ()), closing=closing, background=first)


def split_synthesis(synthesis: Synthesis) -> dict[SynthesisPart, tuple[ResultClaim, ...]]:
    """Return the non-empty parts of a synthesis with their claims; claims of no part belong to the resolution."""
    counts = [*synthesis.sentences, *[0] * len(SYNTHESIS_PARTS)][: len(SYNTHESIS_PARTS)]
    counts[SYNTHESIS_PARTS.index("resolution")] += max(0, len(synthesis.claims) - sum(counts))
    ends = list(accumulate(counts))
    parts = (synthesis.claims[end - count : end] for count, end in zip(counts, ends, strict=True))
    return {name: claims for name, claims in zip(SYNTHESIS_PARTS, parts, strict=True) if claims}
