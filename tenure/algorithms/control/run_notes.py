"""Notes for the reader of a report: what was read for it, and what was missing when it was searched."""

import math

from tenure.contracts.evidence.corpora import IngestReport


def ingested(report: IngestReport) -> str:
    """Say what was read, and what of it is new."""
    told = f"Corpus “{report.corpus}”: {report.files} files"
    if report.added or report.changed or report.removed:
        told += f" ({report.added} new, {report.changed} changed, {report.removed} removed)"
    return f"{told}, {report.skipped_total} not readable." if report.skipped_total else f"{told}."


def embedded(share: float) -> tuple[str, ...]:
    """Say what a corpus that was not embedded yet meant for the searches; nothing where it was."""
    if share >= 1:
        return ()
    return (
        f"Only {math.floor(100 * share)} % of the passages had vectors when a search began; what words found got its "
        "vectors at once, and what only vectors would have found may be missing.",
    )
