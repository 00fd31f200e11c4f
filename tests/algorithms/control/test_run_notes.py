"""Tests of notes on a run."""

from tenure.algorithms.control.run_notes import describe_ingestion, describe_missing_vectors
from tenure.contracts.evidence.corpora import IngestReport


def test_ingestion_is_described() -> None:
    """Number of files, changes, and files that could not be read."""
    assert describe_ingestion(IngestReport(corpus="shelf", files=2)) == "Corpus “shelf”: 2 files."
    assert describe_ingestion(IngestReport(corpus="shelf", files=3, added=1, changed=2, skipped_total=4)) == (
        "Corpus “shelf”: 3 files (1 new, 2 changed, 0 removed), 4 not readable."
    )


def test_missing_vectors_are_described() -> None:
    """The share is rounded down; a complete embedding gives no note."""
    assert describe_missing_vectors(1.0) == ()
    assert describe_missing_vectors(0.999)[0].startswith("Only 99 % of the passages had vectors")
