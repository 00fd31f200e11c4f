"""Report activity: from the finished draft to the result document, every quote checked once more."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translated
from activities.heartbeat import Beat
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.result.changes import StandingReply, StandingRequest
from tenure.contracts.result.result import Result
from tenure.report.assemble import assemble

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class ReportActivities:
    """Assembling, on one knowledge base. Synchronous: it runs in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Take sources from `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def assemble(self, draft: ReportDraft) -> Result:
        """Number the sources, check the quotes, set the text."""
        synthesis = draft.synthesis
        parts = (synthesis.situation, synthesis.complication, synthesis.resolution)
        drafts = (draft.abstract, *(section.draft for section in draft.sections), *parts)
        cited = {citation.source for d in drafts for claim in d.claims for citation in claim.citations}
        cited |= {side.source for found in draft.contradictions for side in (found.a, found.b)}
        with translated(), Beat():
            web = self._knowledge.web_account(draft.web_corpus) if draft.web_corpus else None
            return assemble(draft, self._knowledge.sources(sorted(cited)), web)

    @activity.defn
    def look_whether_words_stand(self, request: StandingRequest) -> StandingReply:
        """Look whether words that were quoted before still stand in their sources."""
        with translated(), Beat():
            stored = self._knowledge.sources(sorted({place.source for place in request.places}))
        texts = {source: record.text for source, record in stored.items()}
        return StandingReply(stands=tuple(place.quote in texts.get(place.source, "") for place in request.places))
