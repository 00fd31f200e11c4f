"""Format citation marks, and render claims as Markdown with them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from tenure.contracts.evidence.passages import ClaimStatus
from tenure.contracts.result.result import ResultClaim, SourceEntry
from tenure.report.render.escaping import escape
from tenure.report.render.layout import ClaimRun, LayoutBlock, split_into_blocks
from tenure.report.render.sources.bibliography import make_author_year_labels

CitationStyle = Literal["numeric", "author-year"]
"""Format of citation marks: `[1, 2]` or `(Author 2024; Doe 2023)`."""

UNSOURCED = "[unsourced]"
"""Mark of a sentence without a citation, so that it cannot be mistaken for a cited one."""


STATUS_WORDS: Mapping[ClaimStatus, str] = {
    "supported": "",
    "unverified": "not checked",
    "neutral": "not confirmed",
    "refuted": "contradicted",
    "missing_citation": "unsourced",
    "invalid_source": "source does not match",
}
"""Remark on a sentence's support; none if it is supported."""


TAINTED = "a source gives instructions to language models"
"""Remark on a sentence that such a source may have influenced."""


class CitationMarks(NamedTuple):
    """Citation marks of a report."""

    label: Callable[[int], str]
    """Labels of the sources by number."""
    opening: str
    """Text before the first label of a mark."""
    between: str
    """Text between two labels."""
    closing: str
    """Text after the last label."""

    def mark(self, sources: Sequence[int]) -> str:
        """Return the mark of some sources, or of none."""
        if not sources:
            return UNSOURCED
        return f"{self.opening}{self.between.join(self.label(n) for n in sources)}{self.closing}"

    def render_markdown(self, sources: Sequence[int]) -> str:
        """Return a mark as Markdown, with untrusted names escaped."""
        return self.mark(sources) if self.label is str or not sources else escape(self.mark(sources))


NUMERIC = CitationMarks(str, "[", ", ", "]")
"""Numeric marks, which the result document contains."""


def make_marks(sources: Sequence[SourceEntry], style: CitationStyle) -> CitationMarks:
    """Return the citation marks of a report with these sources."""
    return (
        NUMERIC if style == "numeric" else CitationMarks(make_author_year_labels(sources).__getitem__, "(", "; ", ")")
    )


def to_markdown(claims: Sequence[ResultClaim], marks: CitationMarks) -> str:
    """Render claims as Markdown with citation marks.

    Args:
        claims: the sentences, in reading order.
        marks: the citation marks.
    """
    return "\n\n".join(_passage(passage, marks) for passage in split_into_blocks(claims))


def _passage(passage: LayoutBlock, marks: CitationMarks) -> str:
    runs = [_run(run, marks) for run in passage.runs]
    return " ".join(runs) if passage.kind == "paragraph" else "\n".join(f"- {run}" for run in runs)


def describe_status(claim: ResultClaim, run: ClaimRun) -> str:
    """Return the remarks on a sentence: its status, unless the mark shows it already, and whether it is tainted."""
    is_marked = not run.sources and claim.status in ("missing_citation", "invalid_source")
    status = "" if is_marked or claim.status == "unverified" else STATUS_WORDS[claim.status]
    return "; ".join(filter(None, (status, TAINTED if claim.tainted else "")))


def _run(run: ClaimRun, marks: CitationMarks) -> str:
    return " ".join([*(_sentence(claim, run) for claim in run.claims), marks.render_markdown(run.sources)])


def _sentence(claim: ResultClaim, run: ClaimRun) -> str:
    doubt = describe_status(claim, run)
    return f"{escape(claim.text)} [{doubt}]" if doubt else escape(claim.text)
