"""Assemble the result document from a draft, with a final check of every quote, and compare it with the last one."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translate_errors
from activities.heartbeat import HeartbeatThread
from tenure.algorithms.claims.report_changes import (
    collect_previous_quotes,
    collect_repeated_quotes,
    compare_reports,
)
from tenure.contracts.base import SourceId
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.result.changes import QuotedSource, ReportChanges
from tenure.contracts.result.result import ComparisonRequest, Result
from tenure.files.rereading import read_texts
from tenure.report.assemble import assemble_result, list_cited_sources

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class ReportActivities:
    """Report activities on one knowledge base; synchronous, executed in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        self._knowledge = knowledge

    @activity.defn
    def assemble_report(self, draft: ReportDraft) -> Result:
        """Number the sources, check the quotes and render the text."""
        with translate_errors(), HeartbeatThread():
            web = self._knowledge.corpora.load_web_account(draft.web_corpus) if draft.web_corpus else None
            sources = self._knowledge.corpora.load_sources(list_cited_sources(draft))
            files = read_texts(record.uri for record in sources.values())
            return assemble_result(draft, sources, web, files, self._knowledge.pictures.draw_readings(sources.values()))

    @activity.defn
    def compare_reports(self, request: ComparisonRequest) -> ReportChanges:
        """Compare a report with the last one on the same question, by the quotes that still occur in their sources."""
        last, now = request.last, request.now
        previous, repeated = collect_previous_quotes(last, now), collect_repeated_quotes(last, now)
        with translate_errors(), HeartbeatThread():
            stored = self._knowledge.corpora.load_sources(sorted({*previous.values(), *repeated.values()}))
            texts = {source: record.text for source, record in stored.items()}

            def find(quotes: dict[QuotedSource, SourceId]) -> dict[QuotedSource, bool]:
                return {quote: quote.quote in texts.get(source, "") for quote, source in quotes.items()}

            return compare_reports(last, now, find(previous), find(repeated), request.at)
