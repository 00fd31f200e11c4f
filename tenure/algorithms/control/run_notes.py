"""Write notes for the reader of a report on ingestion, missing vectors and missing links."""

import math
from collections.abc import Sequence
from typing import Final

from tenure.contracts.evidence.corpora import IngestReport
from tenure.contracts.run.run import FallbackRecord, Usage

PREFERENCE_ROLES: Final = frozenset(
    "planner outliner report_writer report_reviewer test_writer coder code_reflector".split()
)
"""Roles whose prompts contain the preferences of the owner."""


def describe_ingestion(report: IngestReport) -> str:
    """Return a sentence on the files that were ingested."""
    text = f"Corpus “{report.corpus}”: {report.files} files"
    if report.added or report.changed or report.removed:
        text += f" ({report.added} new, {report.changed} changed, {report.removed} removed)"
    pictures = sum(file.is_picture for file in report.skipped)
    if others := report.skipped_total - pictures:
        text += f", {others} not readable"
    if pictures:
        text += f", {pictures} {'picture' if pictures == 1 else 'pictures'} not read"
    return f"{text}{describe_transcribed(report)}."


def describe_transcribed(report: IngestReport) -> str:
    """Return the length and the cost of transcribed recordings, after a comma; empty without any."""
    if not report.transcribed_seconds:
        return ""
    cost = report.transcription_cost_usd
    money = "" if cost is None else f" for {cost:.4f} USD"
    return f", {report.transcribed_seconds / 60:.1f} minutes transcribed{money}"


def describe_preferences(
    preferences: Sequence[str], usage: Usage, fallbacks: Sequence[FallbackRecord]
) -> tuple[str, ...]:
    """Return a note on the recalled preferences of the owner and their use; empty if there are none."""
    if not preferences:
        return ()
    listed = "; ".join(f"“{preference}”" for preference in preferences)
    if not usage.model_calls:
        return (f"Preferences known but not applied, since no model wrote this: {listed}.",)
    unread = sorted({fallback.role for fallback in fallbacks}.intersection(PREFERENCE_ROLES))
    exception = f" Calls of {', '.join(unread)} without a model did not apply them." if unread else ""
    return (f"Preferences given to the models that planned and wrote this: {listed}.{exception}",)


def describe_lessons(lessons: Sequence[str], usage: Usage) -> tuple[str, ...]:
    """Return a note on the lessons of earlier programs and their use; empty if there are none."""
    if not lessons:
        return ()
    if not usage.model_calls:
        return (f"Lessons of earlier programs known but not applied, since no model wrote this: {len(lessons)}.",)
    return (f"Lessons of earlier programs given to the coder: {' '.join(lessons)}",)


def describe_missing_vectors(share: float) -> tuple[str, ...]:
    """Return a note on searches over a corpus that was not completely embedded; empty if it was."""
    note = (
        f"Only {math.floor(100 * share)} % of the passages had vectors when a search started. Passages found by "
        "keywords were embedded immediately; passages that only vectors would find may be missing."
    )
    return (note,) if share < 1 else ()


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
    return (
        f"Nothing was translated into {language}: without a model a report is made of quotes, in the language of its "
        "sources.",
    )


def describe_shortcomings(language: str | None, usage: Usage) -> tuple[str, ...]:
    """Return notes on the translation, vectors and links that a run has lacked."""
    vectors, links = describe_missing_vectors(usage.embedded_share), describe_missing_links(usage)
    return (*describe_missing_translation(language, usage), *vectors, *links)


def format_line(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]
