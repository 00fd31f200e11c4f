"""Citation marks: how a report names its sources, and claims set as Markdown with them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from tenure.contracts.evidence.passages import ClaimStatus
from tenure.contracts.result.result import ResultClaim, SourceEntry
from tenure.report.render.bibliography import author_year
from tenure.report.render.escaping import escape
from tenure.report.render.layout import Passage, Run, passages

Style = Literal["numeric", "author-year"]
"""How a mark names its sources: `[1, 2]` or `(Author 2024; Doe 2023)`."""

UNSOURCED = "[unsourced]"
"""The mark of a sentence that cites nothing, so that it cannot pass for a cited one."""


STATUS_WORDS: Mapping[ClaimStatus, str] = {
    "supported": "",
    "unverified": "not checked",
    "neutral": "not confirmed",
    "refuted": "contradicted",
    "missing_citation": "unsourced",
    "invalid_source": "source did not hold",
}
"""What a reader is told of a sentence's support; nothing where it is supported."""


class Marks(NamedTuple):
    """How the marks of a report are written."""

    label: Callable[[int], str]
    """Names a source by its number."""
    opening: str
    """Before the first label of a mark."""
    between: str
    """Between two of them."""
    closing: str
    """After the last."""

    def mark(self, sources: Sequence[int]) -> str:
        """Write the mark of some sources, or of none."""
        if not sources:
            return UNSOURCED
        return f"{self.opening}{self.between.join(self.label(n) for n in sources)}{self.closing}"

    def markdown(self, sources: Sequence[int]) -> str:
        """Write a mark as Markdown, in which names are foreign text."""
        return self.mark(sources) if self.label is str or not sources else escape(self.mark(sources))


NUMERIC = Marks(str, "[", ", ", "]")
"""Marks by number, which the result document holds."""


def marks(sources: Sequence[SourceEntry], style: Style) -> Marks:
    """Return how a report with these sources marks them."""
    return NUMERIC if style == "numeric" else Marks(author_year(sources).__getitem__, "(", "; ", ")")


def to_markdown(claims: Sequence[ResultClaim], marks: Marks) -> str:
    """Set claims as Markdown with citation marks.

    Args:
        claims: the sentences, in reading order.
        marks: how sources are named in a mark.
    """
    return "\n\n".join(_passage(passage, marks) for passage in passages(claims))


def _passage(passage: Passage, marks: Marks) -> str:
    runs = [_run(run, marks) for run in passage.runs]
    return " ".join(runs) if passage.kind == "paragraph" else "\n".join(f"- {run}" for run in runs)


def note(claim: ResultClaim, run: Run) -> str:
    """Return what a reader has to see of a sentence's status; that it cites nothing, its run says already."""
    told = not run.sources and claim.status in ("missing_citation", "invalid_source")
    return "" if told or claim.status == "unverified" else STATUS_WORDS[claim.status]


def _run(run: Run, marks: Marks) -> str:
    return " ".join([*(_sentence(claim, run) for claim in run.claims), marks.markdown(run.sources)])


def _sentence(claim: ResultClaim, run: Run) -> str:
    doubt = note(claim, run)
    return f"{escape(claim.text)} [{doubt}]" if doubt else escape(claim.text)
