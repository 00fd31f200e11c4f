"""Tool activities: what the tools of a reasoning model need of the knowledge base, beside searches and tables."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translated
from activities.heartbeat import Beat
from activities.passages import still_there
from tenure.algorithms.calculator.calculator import calculate
from tenure.algorithms.calculator.quantities import Refused
from tenure.algorithms.claims.citations import cite
from tenure.algorithms.research.observations import Numbered, told
from tenure.contracts.evidence.passages import Claim
from tenure.contracts.research.tools import (
    CalculateReply,
    CalculateRequest,
    CiteRequest,
    LookupReply,
    LookupRequest,
    Shown,
    ShowRequest,
)
from tenure.sources.parsers.tool_text import calculation_document

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class ToolActivities:
    """Tools on one knowledge base. Synchronous: they run in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def show_passages(self, request: ShowRequest) -> Shown:
        """Tell passages in short."""
        with translated(), Beat():
            passages = still_there(self._knowledge, [one.passage for one in request.passages])
        numbers = {one.passage.chunk: one.number for one in request.passages}
        found = [Numbered(numbers[passage.chunk], passage) for passage in passages]
        return Shown(text=told(found, request.about, request.most))

    @activity.defn
    def calculate(self, request: CalculateRequest) -> CalculateReply:
        """Calculate exactly, and keep the result so that it can be cited."""
        try:
            calculation = calculate(request.expression)
        except Refused as refusal:
            return CalculateReply(problem=str(refusal))
        title = request.shows.strip() or "Result of a calculation"
        document = calculation_document(title, calculation.text)
        with translated(), Beat():
            uri = f"calculation: {calculation.expression}"
            passages = self._knowledge.keep_result(request.corpus, uri, document, request.question)
        return CalculateReply(text=calculation.text, passages=passages)

    @activity.defn
    def lookup_term(self, request: LookupRequest) -> LookupReply:
        """Find a term to the letter in some sources."""
        with translated(), Beat():
            return self._knowledge.lookup(request)

    @activity.defn
    def cite_claim(self, request: CiteRequest) -> Claim:
        """Find the words of passages that speak of a claim."""
        with translated(), Beat():
            passages = still_there(self._knowledge, request.passages)
        return cite(request.claim, range(1, len(passages) + 1), passages)
