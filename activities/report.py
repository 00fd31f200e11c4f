"""Assemble the result document from a draft, with a final check of every quote."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translate_errors
from activities.heartbeat import HeartbeatThread
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.result.changes import QuoteCheckReply, QuoteCheckRequest
from tenure.contracts.result.result import Result
from tenure.files.rereading import read_texts
from tenure.report.assemble import assemble_result, list_cited_sources

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class ReportActivities:
    """Report activities on one knowledge base; synchronous, executed in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Read sources from `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def assemble_report(self, draft: ReportDraft) -> Result:
        """Number the sources, check the quotes and render the text."""
        with translate_errors(), HeartbeatThread():
            web = self._knowledge.corpora.load_web_account(draft.web_corpus) if draft.web_corpus else None
            sources = self._knowledge.corpora.load_sources(list_cited_sources(draft))
            files = read_texts(record.uri for record in sources.values())
            return assemble_result(draft, sources, web, files)

    @activity.defn
    def check_quotes(self, request: QuoteCheckRequest) -> QuoteCheckReply:
        """Return, for each quote of an earlier report, whether it still occurs in its source."""
        with translate_errors(), HeartbeatThread():
            stored = self._knowledge.corpora.load_sources(sorted({place.source for place in request.locations}))
        texts = {source: record.text for source, record in stored.items()}
        return QuoteCheckReply(found=tuple(place.quote in texts.get(place.source, "") for place in request.locations))
