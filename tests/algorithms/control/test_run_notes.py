"""Notes on how a report came about."""

from tenure.algorithms.control.run_notes import describe_ingestion, describe_missing_vectors
from tenure.contracts.evidence.corpora import IngestReport


def test_what_was_read_is_told() -> None:
    """The files, what of them is new, and how many could not be read."""
    assert describe_ingestion(IngestReport(corpus="shelf", files=2)) == "Corpus “shelf”: 2 files."
    assert describe_ingestion(IngestReport(corpus="shelf", files=3, added=1, changed=2, skipped_total=4)) == (
        "Corpus “shelf”: 3 files (1 new, 2 changed, 0 removed), 4 not readable."
    )


def test_missing_vectors_are_told() -> None:
    """A share below the whole is rounded down; the whole needs no word."""
    assert describe_missing_vectors(1.0) == ()
    assert describe_missing_vectors(0.999)[0].startswith("Only 99 % of the passages had vectors")
