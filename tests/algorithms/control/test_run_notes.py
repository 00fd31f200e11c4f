"""Tests of notes on a run."""

import pytest

from tenure.algorithms.control.run_notes import (
    describe_ingestion,
    describe_lessons,
    describe_missing_links,
    describe_missing_translation,
    describe_missing_vectors,
    describe_preferences,
)
from tenure.contracts.evidence.corpora import IngestReport, SkippedFile
from tenure.contracts.run.run import FallbackRecord, Usage


def test_ingestion_is_described() -> None:
    """Number of files, changes, and files that could not be read."""
    assert describe_ingestion(IngestReport(corpus="shelf", files=2)) == ("Files of corpus “shelf”: 2.",)
    assert describe_ingestion(IngestReport(corpus="shelf", files=3, added=1, changed=2, skipped_total=4)) == (
        "Files of corpus “shelf”: 3 (1 new, 2 changed, 0 removed).",
        "Files of “shelf” that are not readable: 4.",
    )


@pytest.mark.parametrize(("price", "cost"), [(0.006, " for 0.0150 USD"), (None, "")])
def test_transcribed_minutes_are_described(price: float | None, cost: str) -> None:
    """The note on an ingestion names the length of transcribed recordings, and their cost if it is known."""
    report = IngestReport(corpus="c", files=1, transcribed_seconds=150, transcription_price=price)

    assert describe_ingestion(report)[1:] == (f"Transcribed recordings of “c”: 2.5 minutes{cost}.",)


def test_pictures_are_counted_apart() -> None:
    """Pictures seldom have text that a report needs, so they are not counted as unreadable documents."""
    pictures = tuple(SkippedFile(path=f"/a/{name}", reason="not readable") for name in ("b.png", "c.JPG"))
    both = IngestReport(corpus="shelf", files=3, skipped=(*pictures, SkippedFile(path="/a/d.bin", reason="binary")))

    assert describe_ingestion(both.model_copy(update={"skipped_total": 3})) == (
        "Files of corpus “shelf”: 3.",
        "Files of “shelf” that are not readable: 1.",
        "Pictures of “shelf” that were not read: 2.",
    )
    one = IngestReport(corpus="shelf", files=1, skipped=pictures[:1], skipped_total=1)
    assert describe_ingestion(one) == (
        "Files of corpus “shelf”: 1.",
        "Pictures of “shelf” that were not read: 1.",
    )


def test_missing_vectors_are_described() -> None:
    """The share is rounded down; a complete embedding gives no note."""
    assert describe_missing_vectors(1.0) == ()
    assert describe_missing_vectors(0.999)[0].startswith("Only 99 % of the passages had vectors")


def test_preferences_are_described_with_their_use() -> None:
    """The note says whether a model received the preferences, and which calls did without."""
    known, used = ("We use metric units", "Be brief"), Usage(model_calls=3)
    failed = FallbackRecord(role="report_writer", reason="no answer")
    other = FallbackRecord(role="router", reason="no answer")

    assert describe_preferences((), used, ()) == ()
    assert describe_preferences(known, Usage(), ()) == (
        "Preferences known but not applied, since no model wrote this: “We use metric units”; “Be brief”.",
    )
    given = "Preferences given to the models that planned and wrote this: “We use metric units”; “Be brief”."
    assert describe_preferences(known, used, (other,)) == (given,)
    assert describe_preferences(known, used, (other, failed, failed)) == (
        f"{given} Calls of report_writer without a model did not apply them.",
    )


def test_lessons_are_described_with_their_use() -> None:
    """The note contains the lessons that a model received, and the number of those that none received."""
    assert describe_lessons((), Usage(model_calls=1)) == ()
    assert describe_lessons(("Count from 0.",), Usage(model_calls=1)) == (
        "Lessons of earlier programs given to the coder: Count from 0.",
    )
    assert describe_lessons(("a", "b"), Usage()) == (
        "Lessons of earlier programs known but not applied, since no model wrote this: 2.",
    )


def test_missing_links_are_noted() -> None:
    """The note counts the searches along links that had none to follow; without such a search the note is empty."""
    assert describe_missing_links(Usage()) == ()
    assert describe_missing_links(Usage(searches_without_links=1))[0].startswith("One search with the mode `graph`")
    assert describe_missing_links(Usage(searches_without_links=3))[0].startswith("3 searches with the mode `graph`")


def test_a_missing_translation_is_described() -> None:
    """Only a run with a language and without a model has translated nothing."""
    (note,) = describe_missing_translation("German", Usage())

    assert note.startswith("Nothing was translated into German")
    assert describe_missing_translation("German", Usage(model_calls=1)) == ()
    assert describe_missing_translation(None, Usage()) == ()
