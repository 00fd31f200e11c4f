"""Compare two reports of a scheduled question: which statements are new, changed or no longer supported.

Two reports on the same documents may differ in wording and selection. A statement is therefore new only if it cites a
source that was read since the last report, and withdrawn only if all of its quotes are gone from their sources. Sources
are matched by URL, because every run stores web pages again.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from tenure.algorithms.text.sentences import normalize_sentence, stem_words
from tenure.contracts.base import SourceId
from tenure.contracts.result.changes import CitedStatement, QuotedSource, ReportChanges, RevisedStatement
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Usage

MIN_SIMILARITY = 0.25
"""Minimum Jaccard similarity of the stems of a withdrawn statement and its successor."""


def select_compared_parts(result: Result) -> Result:
    """Return the parts of a report that are compared, so that two reports fit into one request."""
    sections = tuple(section.model_copy(update={"markdown": ""}) for section in result.sections)
    return Result(
        id=result.id,
        mode=result.mode,
        question="",
        title="",
        abstract="",
        abstract_claims=result.abstract_claims,
        sections=sections,
        sources=result.sources,
        usage=Usage(),
        changes=ReportChanges(at=result.changes.at) if result.changes else None,
        status=result.status,
    )


def collect_previous_quotes(last: Result, now: Result) -> dict[QuotedSource, SourceId]:
    """Return the quotes of the last report with the sources in which they are looked up."""
    sources = {source.uri: source.id for source in last.sources}
    sources |= {source.uri: source.id for source in now.sources}
    return {quote: sources[quote.uri] for statement in list_statements(last) for quote in statement.quotes}


def collect_repeated_quotes(last: Result, now: Result) -> dict[QuotedSource, SourceId]:
    """Return the quotes of the new report that may also occur in the last report's copies of their sources."""
    copies = {source.uri: source.id for source in last.sources}
    for source in now.sources:
        if copies.get(source.uri) == source.id:
            del copies[source.uri]  # the same id: the copy is the source itself
    return {
        quote: copies[quote.uri]
        for statement in list_statements(now)
        for quote in statement.quotes
        if quote.uri in copies
    }


def compare_reports(
    last: Result,
    now: Result,
    still_present: Mapping[QuotedSource, bool],
    already_present: Mapping[QuotedSource, bool],
    finished_at: str,
) -> ReportChanges:
    """Compare a report with the last one.

    Args:
        last: the last report.
        now: the new report.
        still_present: whether each quote of the last report still occurs in its source.
        already_present: whether each quote of the new report occurred in the last copy of its source.
        finished_at: time of the new report.
    """
    previous = list_statements(last)
    current_texts = {normalize_sentence(statement.text) for statement in list_statements(now)}
    gone = [
        statement
        for statement in previous
        if statement.quotes and not any(still_present[quote] for quote in statement.quotes)
    ]
    withdrawn = [statement for statement in gone if normalize_sentence(statement.text) not in current_texts]
    fresh = _find_new_statements(last, now, already_present)
    revised: list[RevisedStatement] = []
    for statement in list(withdrawn):
        successor = _find_successor(statement, fresh)
        if successor is not None:
            revised.append(RevisedStatement(before=statement, after=successor))
            fresh.remove(successor)
            withdrawn.remove(statement)
    return ReportChanges(
        at=finished_at,
        since=last.id,
        since_at=last.changes.at if last.changes else "",
        new=tuple(fresh),
        changed=tuple(revised),
        withdrawn=tuple(withdrawn),
        unchanged=len(previous) - len(gone),
    )


def list_statements(result: Result) -> list[CitedStatement]:
    """List the statements in abstract and sections of a report, without repetitions.

    A sentence of the abstract is in no section, so that it would be missing otherwise.
    """
    by_number = {source.n: source for source in result.sources}
    statements: dict[str, CitedStatement] = {}
    parts = [("Abstract", result.abstract_claims), *((section.topic, section.claims) for section in result.sections)]
    for topic, claims in parts:
        for claim in claims:
            cited = [(by_number[citation.source], citation.quote) for citation in claim.citations]
            quotes = tuple(QuotedSource(uri=source.uri, title=source.title, quote=quote) for source, quote in cited)
            statement = CitedStatement(topic=topic, text=claim.statement, quotes=quotes)
            statements.setdefault(normalize_sentence(claim.statement), statement)
    return list(statements.values())


def _find_new_statements(
    last: Result, now: Result, already_present: Mapping[QuotedSource, bool]
) -> list[CitedStatement]:
    """Return the statements that the last report neither contained nor could contain."""
    since = last.changes.at if last.changes else max((source.accessed for source in last.sources), default="")
    newly_read = {source.uri for source in now.sources if source.accessed > since}
    previous = list_statements(last)
    previous_texts = {normalize_sentence(statement.text) for statement in previous}
    previous_quotes = {quote for statement in previous for quote in statement.quotes}

    def is_new(quote: QuotedSource) -> bool:
        return quote.uri in newly_read and quote not in previous_quotes and not already_present.get(quote, False)

    return [
        statement
        for statement in list_statements(now)
        if normalize_sentence(statement.text) not in previous_texts and any(map(is_new, statement.quotes))
    ]


def _find_successor(gone: CitedStatement, fresh: Sequence[CitedStatement]) -> CitedStatement | None:
    """Return the new statement on the same source that is most similar to a withdrawn one."""
    sources = {quote.uri for quote in gone.quotes}
    candidates = [statement for statement in fresh if sources & {quote.uri for quote in statement.quotes}]
    best = max(candidates, key=lambda statement: _compute_overlap(gone.text, statement.text), default=None)
    return best if best is not None and _compute_overlap(gone.text, best.text) >= MIN_SIMILARITY else None


def _compute_overlap(first: str, second: str) -> float:
    """Return the Jaccard similarity of the stems of two texts."""
    a, b = _list_stems(first), _list_stems(second)
    return len(a & b) / len(a | b) if a | b else 0.0


@lru_cache(maxsize=4096)  # each withdrawn statement is compared with each new one
def _list_stems(text: str) -> frozenset[str]:
    return frozenset(stem_words(text))
