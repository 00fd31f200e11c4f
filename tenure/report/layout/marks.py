"""Define citation marks and the remarks on claims."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from tenure.algorithms.claims.citations import KINDS_WITH_SOURCES
from tenure.contracts.choices import CitationStyle
from tenure.contracts.evidence.passages import ClaimKind, ClaimStatus
from tenure.contracts.result.result import ResultClaim, SourceEntry
from tenure.report.layout.blocks import CitedClaim, LayoutBlock, split_into_blocks
from tenure.report.sources.bibliography import make_author_year_labels
from tenure.report.sources.places import FROM_PICTURE
from tenure.report.translation import mark_message, translate

STATUS_WORDS: Mapping[ClaimStatus, str] = {
    "supported": "",
    "unverified": mark_message("not checked"),
    "neutral": mark_message("not confirmed"),
    "refuted": mark_message("contradicted"),
    "missing_citation": mark_message("unsourced"),
    "invalid_source": mark_message("source does not match"),
}
"""Remark on a sentence's support; none if it is supported."""
SUPPORTED = mark_message("supported")


STATUS_MEANINGS: Mapping[ClaimStatus, str] = {
    "neutral": mark_message(
        "the check did not find the statement in the quoted words: read the quote before you rely on it"
    ),
    "refuted": mark_message("the quoted words say otherwise"),
    "missing_citation": mark_message("no passage of a source was named for the statement"),
    "invalid_source": mark_message("the named quote is not in its source"),
}
"""Explanations of the marks of doubtful sentences."""

TAINTED = "!"
"""Remark on a sentence that instructions to language models may have influenced."""
TAINTED_MEANING = mark_message(
    "its source, or a passage that its model read, contains words like instructions to language models"
)
"""Explanation of the remark on such a sentence."""
ALL_TAINTED_MEANING = mark_message(
    "The models that wrote the report read words like instructions to language models, which may have influenced any "
    "sentence. The limits of the evidence name the sources."
)
"""Explanation that replaces the remarks on single sentences."""
EMPTY_CELL = "–"
"""Text of a cell on which a report says nothing."""
EMPTY_CELL_MEANING = mark_message("this report says nothing on it")
"""Explanation of an empty cell: readers took it for a statement that no source says anything."""
MAX_TAINTED_SHARE = 0.5
"""Maximum share of sentences with a remark: all 109 of a report carried one since a passage of a manual spoke of
“running forget, prune and other maintenance commands”."""
INFERENCE = "i"
"""Remark on a conclusion or recommendation of the writer."""
INFERENCE_MEANING = mark_message("concluded from the cited words, which do not state it themselves")
"""Explanation of the remark on a conclusion."""
SHARED_MEANING = mark_message(
    "A mark also stands for the sentences before it in its paragraph, back to the mark before it."
)
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

    def mark(self, source: int) -> str:
        """Return the mark of a source."""
        return f"{self.opening}{self.label(source)}{self.closing}"


NUMERIC = CitationMarks(str, "[", ", ", "]")
"""Numeric marks, which the result document contains."""


def make_marks(sources: Sequence[SourceEntry], style: CitationStyle) -> CitationMarks:
    """Return the citation marks of a report with these sources."""
    return (
        NUMERIC if style == "numeric" else CitationMarks(make_author_year_labels(sources).__getitem__, "(", "; ", ")")
    )


def list_sources(block: LayoutBlock) -> tuple[int, ...]:
    """Return the numbers of the sources of a block."""
    return tuple(dict.fromkeys(source for cited in block.claims for source in cited.sources))


def describe_excerpt(block: LayoutBlock) -> str:
    """Return the remarks on an excerpt, each once."""
    return "; ".join(dict.fromkeys(filter(None, map(describe_status, block.claims))))


def explain_marks(claims: Iterable[ResultClaim]) -> tuple[str, ...]:
    """Return the meanings of the short marks and of the marks of doubt that occur in claims, one line each."""
    all_claims = list(claims)
    marked = [claim for claim in all_claims if needs_source(claim)]
    statuses = {claim.status for claim in marked}
    concluded = any(claim.kind == "inference" for claim in marked)
    shared = any(not cited.marked for block in split_into_blocks(all_claims) for cited in block.claims)
    tainted = (
        _explain(f"[{TAINTED}]", TAINTED_MEANING) if is_taint_marked(all_claims) else translate(ALL_TAINTED_MEANING)
    )
    has_empty_cell = any(map(_has_empty_cell, split_into_blocks(all_claims)))
    return (
        *([translate(SHARED_MEANING)] if shared else []),
        *([_explain(f"[{INFERENCE}]", INFERENCE_MEANING)] if concluded else []),
        *([tainted] if any(claim.tainted for claim in all_claims) else []),
        *([_explain(EMPTY_CELL, EMPTY_CELL_MEANING)] if has_empty_cell else []),
        *(
            _explain(f"[{translate(STATUS_WORDS[status])}]", meaning)
            for status, meaning in STATUS_MEANINGS.items()
            if status in statuses
        ),
    )


def _explain(mark: str, meaning: str) -> str:
    return f"{mark}: {translate(meaning)}{translate('.')}"


def _has_empty_cell(block: LayoutBlock) -> bool:
    """Return whether a table has a cell without a statement."""
    cells = (cell for row in block.rows for cell in row.cells) if block.kind == "table" else ()
    return any(all(cited.claim.text == EMPTY_CELL for cited in cell) for cell in cells)


def is_taint_marked(claims: Sequence[ResultClaim]) -> bool:
    """Return whether the sentences that instructions may have influenced are few enough to be marked one by one."""
    return sum(claim.tainted for claim in claims) <= MAX_TAINTED_SHARE * len(claims)


def needs_source(claim: ResultClaim) -> bool:
    """Return whether a claim without a source is marked as unsourced; gaps and lead-ins need none."""
    return claim.kind in KINDS_WITH_SOURCES or claim.status != "unverified"


def describe_status(cited: CitedClaim, expected: ClaimKind = "fact", *, marks_taint: bool = True) -> str:
    """Return the remarks on a claim: inference, its status unless the mark shows it, and whether it is tainted."""
    claim = cited.claim
    is_marked = not cited.sources and claim.status in ("missing_citation", "invalid_source")
    status = "" if is_marked or claim.status == "unverified" else translate(STATUS_WORDS[claim.status])
    kind = INFERENCE if claim.kind == "inference" != expected else ""
    is_read = bool(claim.citations) and all(citation.from_picture for citation in claim.citations)
    origin = translate(FROM_PICTURE) if is_read else ""
    return "; ".join(filter(None, (kind, status, origin, TAINTED if claim.tainted and marks_taint else "")))


def describe_state(source: SourceEntry) -> str:
    """Return the version of a source, whether it calls itself retired, and whether it was read from a picture."""
    version = translate("version {version}", version=source.version) if source.version else ""
    origin = translate(FROM_PICTURE) if source.from_picture else ""
    return ", ".join(filter(None, (version, translate("retired") if source.retired else "", origin)))


def make_unsourced_mark() -> str:
    """Return the mark of a claim that needs a source and has none, such as "[unsourced]"."""
    return f"[{translate(STATUS_WORDS['missing_citation'])}]"
