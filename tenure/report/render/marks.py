"""Format citation marks, and render claims as Markdown with them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from tenure.algorithms.claims.citations import KINDS_WITH_SOURCES
from tenure.contracts.evidence.passages import ClaimKind, ClaimStatus
from tenure.contracts.result.result import ResultClaim, SourceEntry
from tenure.report.render.escaping import escape, escape_cell, escape_sentence
from tenure.report.render.excerpts import render_excerpt
from tenure.report.render.layout import CitedClaim, LayoutBlock, split_into_blocks
from tenure.report.render.program import format_code_block
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


STATUS_MEANINGS: Mapping[ClaimStatus, str] = {
    "neutral": "the check did not find the statement in the quoted words: read the quote before you rely on it",
    "refuted": "the quoted words say otherwise",
    "missing_citation": "no passage of a source was named for the statement",
    "invalid_source": "the named quote is not in its source",
}
"""Explanations of the marks of doubtful sentences."""

TAINTED = "a source gives instructions to language models"
"""Remark on a sentence that such a source may have influenced."""


INFERENCE = "i"
"""Remark on a conclusion or recommendation of the writer."""
INFERENCE_MEANING = "concluded from the cited words, which do not state it themselves"
"""Explanation of the remark on a conclusion."""
SHARED_MEANING = "A mark also stands for the sentences before it in its paragraph, back to the mark before it."
"""Explanation of a mark of several sentences."""


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


def to_markdown(claims: Sequence[ResultClaim], marks: CitationMarks, expected: ClaimKind = "fact") -> str:
    """Render claims as Markdown with citation marks.

    Args:
        claims: the sentences, in reading order.
        marks: the citation marks.
        expected: kind of claims that the heading of the text explains already, so that they have no remark.
    """
    return "\n\n".join(part for block in split_into_blocks(claims) for part in _render_block(block, marks, expected))


def _render_block(block: LayoutBlock, marks: CitationMarks, expected: ClaimKind) -> Iterator[str]:
    if block.heading:
        yield f"### {escape(block.heading)}"
    if block.kind == "table":
        yield _render_table(block, marks, expected)
    elif block.kind == "definitions":
        yield "\n".join(
            f"- **{escape(row.label)}:** {_render_cell(row.cells[0], marks, expected)}" for row in block.rows
        )
    elif block.kind == "code":
        for one in block.claims:
            yield format_code_block(one.claim.text)
            yield " ".join(_remarks(one, marks, expected))
    elif block.kind == "excerpt":
        yield render_excerpt([one.claim for one in block.claims], " ".join(_remark_excerpt(block, marks)))
    elif block.kind == "paragraph":
        yield " ".join(_render_claim(one, marks, expected) for one in block.claims)
    else:
        yield "\n".join(
            f"{f'{number}.' if block.kind == 'numbered' else '-'} {_render_claim(one, marks, expected)}"
            for number, one in enumerate(block.claims, 1)
        )


def _render_table(block: LayoutBlock, marks: CitationMarks, expected: ClaimKind) -> str:
    rows = [
        ["", *map(escape, block.columns)],
        ["---"] * (len(block.columns) + 1),
        *(
            [f"**{escape(row.label)}**", *(_render_cell(cell, marks, expected) or "–" for cell in row.cells)]
            for row in block.rows
        ),
    ]
    return "\n".join(f"| {' | '.join(map(escape_cell, row))} |" for row in rows)


def _render_cell(cell: Sequence[CitedClaim], marks: CitationMarks, expected: ClaimKind) -> str:
    return " ".join(_render_claim(one, marks, expected) for one in cell)


def _render_claim(one: CitedClaim, marks: CitationMarks, expected: ClaimKind) -> str:
    return " ".join([escape_sentence(one.claim.text), *_remarks(one, marks, expected)])


def _remarks(one: CitedClaim, marks: CitationMarks, expected: ClaimKind) -> Iterator[str]:
    """Yield the remark on a claim and its citation mark, unless a later claim has them for both."""
    if not one.marked:
        return
    if doubt := describe_status(one, expected):
        yield f"[{doubt}]"
    if one.sources or needs_source(one.claim):
        yield marks.render_markdown(one.sources)


def _remark_excerpt(block: LayoutBlock, marks: CitationMarks) -> Iterator[str]:
    """Yield the remark on an excerpt and its only citation mark."""
    if doubt := describe_excerpt(block):
        yield f"[{doubt}]"
    yield marks.render_markdown(list_sources(block))


def list_sources(block: LayoutBlock) -> tuple[int, ...]:
    """Return the numbers of the sources of a block."""
    return tuple(dict.fromkeys(source for one in block.claims for source in one.sources))


def describe_excerpt(block: LayoutBlock) -> str:
    """Return the remarks on an excerpt, each once."""
    return "; ".join(dict.fromkeys(filter(None, map(describe_status, block.claims))))


def explain_marks(claims: Iterable[ResultClaim]) -> tuple[str, ...]:
    """Return the meanings of the short marks and of the marks of doubt that occur in claims, one line each."""
    known = list(claims)
    marked = [claim for claim in known if needs_source(claim)]
    found = {claim.status for claim in marked}
    concluded = any(claim.kind == "inference" for claim in marked)
    shared = any(not one.marked for block in split_into_blocks(known) for one in block.claims)
    return (
        *([SHARED_MEANING] if shared else []),
        *([f"[{INFERENCE}]: {INFERENCE_MEANING}."] if concluded else []),
        *(f"[{STATUS_WORDS[status]}]: {meaning}." for status, meaning in STATUS_MEANINGS.items() if status in found),
    )


def needs_source(claim: ResultClaim) -> bool:
    """Return whether a claim without a source is marked as unsourced; gaps and lead-ins need none."""
    return claim.kind in KINDS_WITH_SOURCES or claim.status != "unverified"


def describe_status(one: CitedClaim, expected: ClaimKind = "fact") -> str:
    """Return the remarks on a claim: inference, its status unless the mark shows it, and whether it is tainted."""
    claim = one.claim
    is_marked = not one.sources and claim.status in ("missing_citation", "invalid_source")
    status = "" if is_marked or claim.status == "unverified" else STATUS_WORDS[claim.status]
    kind = INFERENCE if claim.kind == "inference" != expected else ""
    return "; ".join(filter(None, (kind, status, TAINTED if claim.tainted else "")))
