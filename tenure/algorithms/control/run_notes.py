"""Write notes for the reader of a report on ingestion and missing vectors."""

import math

from tenure.contracts.evidence.corpora import IngestReport


def describe_ingestion(report: IngestReport) -> str:
    """Return a sentence on the files that were ingested."""
    text = f"Corpus “{report.corpus}”: {report.files} files"
    if report.added or report.changed or report.removed:
        text += f" ({report.added} new, {report.changed} changed, {report.removed} removed)"
    return f"{text}, {report.skipped_total} not readable." if report.skipped_total else f"{text}."


def describe_missing_vectors(share: float) -> tuple[str, ...]:
    """Return a note on searches over a corpus that was not completely embedded; empty if it was."""
    if share >= 1:
        return ()
    return (
        f"Only {math.floor(100 * share)} % of the passages had vectors when a search started. Passages found by "
        "keywords were embedded immediately; passages that only vectors would find may be missing.",
    )
