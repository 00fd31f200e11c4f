"""Write notes for the reader of a report on ingestion, missing vectors and missing links."""

import math
from collections.abc import Sequence
from typing import Final

from tenure.algorithms.control.note_messages import (
    CORPUS_CHANGES,
    CORPUS_FILES,
    MISSING_VECTORS,
    NOT_TRANSLATED,
    TEXTLESS_FILES,
    TRANSCRIBED,
    TRANSCRIBED_AT_A_PRICE,
    UNREAD_PICTURES,
    UNREADABLE_FILES,
    UNUSED_PREFERENCES,
    USED_PREFERENCES,
)
from tenure.contracts.evidence.corpora import IngestReport
from tenure.contracts.run.run import FallbackRecord, Usage

PREFERENCE_ROLES: Final = frozenset(
    "planner outliner report_writer report_reviewer test_writer coder code_reflector".split()
)
"""Roles whose prompts contain the preferences of the owner."""


def describe_ingestion(report: IngestReport) -> tuple[str, ...]:
    """Return sentences on the files that were ingested."""
    message = CORPUS_CHANGES if report.added or report.changed or report.removed else CORPUS_FILES
    counts = {"added": report.added, "changed": report.changed, "removed": report.removed}
    pictures = sum(file.is_picture for file in report.skipped)
    textless = sum(not file.may_have_text for file in report.skipped) - pictures
    unread = {
        UNREADABLE_FILES: report.skipped_total - pictures - textless,
        TEXTLESS_FILES: textless,
        UNREAD_PICTURES: pictures,
    }
    return (
        message.format(corpus=report.corpus, files=report.files, **counts),
        *(note.format(corpus=report.corpus, number=number) for note, number in unread.items() if number),
        *describe_transcription(report),
    )


def describe_transcription(report: IngestReport) -> tuple[str, ...]:
    """Return the length and the cost of transcribed recordings; nothing without any."""
    if not report.transcribed_seconds:
        return ()
    minutes, cost = f"{report.transcribed_seconds / 60:.1f}", report.transcription_cost_usd
    if cost is None:
        return (TRANSCRIBED.format(corpus=report.corpus, minutes=minutes),)
    return (TRANSCRIBED_AT_A_PRICE.format(corpus=report.corpus, minutes=minutes, cost=f"{cost:.4f}"),)


def describe_preferences(
    preferences: Sequence[str], usage: Usage, fallbacks: Sequence[FallbackRecord]
) -> tuple[str, ...]:
    """Return a note on the recalled preferences of the owner and their use; empty if there are none."""
    if not preferences:
        return ()
    listed = "; ".join(f"“{preference}”" for preference in preferences)
    if not usage.model_calls:
        return (UNUSED_PREFERENCES.format(preferences=listed),)
    unread = sorted({fallback.role for fallback in fallbacks}.intersection(PREFERENCE_ROLES))
    exception = f" Calls of {', '.join(unread)} without a model did not apply them." if unread else ""
    return (f"{USED_PREFERENCES.format(preferences=listed)}{exception}",)


def describe_lessons(lessons: Sequence[str], usage: Usage) -> tuple[str, ...]:
    """Return a note on the lessons of earlier programs and their use; empty if there are none."""
    if not lessons:
        return ()
    if not usage.model_calls:
        return (f"Lessons of earlier programs known but not applied, since no model wrote this: {len(lessons)}.",)
    return (f"Lessons of earlier programs given to the coder: {' '.join(lessons)}",)


def describe_missing_vectors(share: float) -> tuple[str, ...]:
    """Return a note on searches over a corpus that was not completely embedded; empty if it was."""
    return (MISSING_VECTORS.format(share=math.floor(100 * share)),) if share < 1 else ()


def describe_missing_links(usage: Usage) -> tuple[str, ...]:
    """Return a note on searches along links that found none to follow; empty if there were none."""
    count = usage.searches_without_links
    if not count:
        return ()
    searches = "One search" if count == 1 else f"{count} searches"
    return (
        f"{searches} with the mode `graph` found no links between passages and ranked them as `hybrid` does. "
        "Links come from names and terms that several passages share.",
    )


def describe_missing_translation(language: str | None, usage: Usage) -> tuple[str, ...]:
    """Return the note on a language into which a run without a model has translated nothing."""
    if not language or usage.model_calls:
        return ()
    return (NOT_TRANSLATED.format(language=language),)


def describe_shortcomings(language: str | None, usage: Usage) -> tuple[str, ...]:
    """Return notes on the translation, vectors and links that a run has lacked."""
    vectors, links = describe_missing_vectors(usage.embedded_share), describe_missing_links(usage)
    return (*describe_missing_translation(language, usage), *vectors, *links)


def format_line(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]
