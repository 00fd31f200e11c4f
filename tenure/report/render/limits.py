"""The limits of the evidence: what a reader should know of it before relying on the report.

Everything here is counted from the result document, so that a report without a model has it as well. How the run
went is told elsewhere, in the report's last part.
"""

from collections.abc import Iterator, Sequence

from tenure.algorithms.text.dates import iso_date
from tenure.contracts.result.result import Result, ResultClaim

THIN = 0.4
"""Coverage below which the evidence on a topic is thin: two good passages of different sources are above it."""
FEW_SOURCES = 2
"""Sources that are few for a whole report."""
UNCONFIRMED = ("refuted", "neutral", "missing_citation", "invalid_source")
"""Statuses of sentences that their quotes do not carry."""


def evidence_limits(result: Result) -> tuple[str, ...]:
    """Return what limits the evidence of a report, a sentence each; nothing where there is no report."""
    return tuple(_limits(result)) if result.sections else ()


def _limits(result: Result) -> Iterator[str]:
    written = [section.topic for section in result.sections]
    if empty := [topic for topic in result.coverage if topic not in written]:
        yield f"Nothing was found on {_listed(empty)}."
    if thin := [topic for topic in written if topic in result.coverage and result.coverage[topic] < THIN]:
        yield f"The evidence on {_listed(thin)} is thin."
    if result.evaluation and result.evaluation.missing:
        yield f"Of the question, nothing here answers {_listed(result.evaluation.missing)}."
    if 0 < len(result.sources) <= FEW_SOURCES:
        few = "a single source" if len(result.sources) == 1 else f"{len(result.sources)} sources"
        yield f"All of it rests on {few}."
    if dates := sorted((source.published for source in result.sources if source.published), key=iso_date):
        undated = len(result.sources) - len(dates)
        also = f"; {undated} of {len(result.sources)} {'has' if undated == 1 else 'have'} no date" if undated else ""
        yield f"The newest of the sources with a date is of {dates[-1]}{also}."
    if doubtful := [claim for claim in _claims(result) if claim.status in UNCONFIRMED]:
        said = "One sentence is" if len(doubtful) == 1 else f"{len(doubtful)} sentences are"
        yield f"{said} not carried by the quotes beside; the marks say which."
    if result.usage.embedded_share < 1:
        yield "Some searches looked at passages by their words alone, since their vectors were not made yet."
    yield from web_limits(result)
    if unread := len(result.skipped):
        yield f"{'One file' if unread == 1 else f'{unread} files'} could not be read."


def web_limits(result: Result) -> Iterator[str]:
    """Yield what limits what was read of the web; also where nothing was found, since then it may be why."""
    if result.web is None:
        return
    if result.web.unanswered:
        why = "; ".join(f"{engine.engine}: {engine.note}" for engine in result.web.engines) or "none is set up"
        yield f"No search engine answered ({why})."
    else:
        for engine in result.web.engines:
            if engine.set_up and (missed := engine.asked - engine.answered):
                yield f"{engine.engine} did not answer {missed} of {engine.asked} searches ({engine.note})."
    if lost := sum(page.status in ("refused", "failed") for page in result.web.pages):
        yield f"{'One page' if lost == 1 else f'{lost} pages'} that engines offered could not be read."
    for page in result.web.pages:
        if "instructions" in page.flaws:
            yield f"{page.address} holds words that try to give orders to who reads it; they were read as words only."
        elif "paywall" in page.flaws and page.status == "read":
            yield f"{page.address} shows only its beginning."


def _claims(result: Result) -> Iterator[ResultClaim]:
    for section in result.sections:
        yield from section.claims


def _listed(topics: Sequence[str]) -> str:
    return ", ".join(f"“{topic}”" for topic in topics)
