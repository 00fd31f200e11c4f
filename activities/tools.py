"""Execute tools of the ReAct loop that need the knowledge base but are neither searches nor table queries."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translate_errors
from activities.heartbeat import HeartbeatThread
from activities.passages import load_existing_passages
from tenure.algorithms.calculator.calculator import calculate
from tenure.algorithms.calculator.quantities import CalculationError
from tenure.algorithms.claims.citations import cite_claim, cite_decisive_sentences
from tenure.algorithms.research.observations import NumberedPassage, format_passages
from tenure.contracts.research.tools import (
    CalculateReply,
    CalculateRequest,
    CiteReply,
    CiteRequest,
    ExcerptsRequest,
    LookupReply,
    LookupRequest,
)

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class ToolActivities:
    """Tools on one knowledge base; synchronous, executed in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        self._knowledge = knowledge

    @activity.defn
    def build_excerpts(self, request: ExcerptsRequest) -> str:
        """Return short excerpts of passages."""
        with translate_errors(), HeartbeatThread():
            passages = load_existing_passages(self._knowledge, [numbered.passage for numbered in request.passages])
        numbers = {numbered.passage.chunk: numbered.number for numbered in request.passages}
        numbered_passages = [NumberedPassage(numbers[passage.chunk], passage) for passage in passages]
        return format_passages(numbered_passages, request.topic, request.max_length)

    @activity.defn
    def calculate(self, request: CalculateRequest) -> CalculateReply:
        """Calculate exactly and store the result so that it can be cited."""
        try:
            calculation = calculate(request.expression)
        except CalculationError as refusal:
            return CalculateReply(problem=str(refusal))
        # Imported when needed: it loads DuckDB, and the worker should serve first.
        from tenure.sources.parsers.tool_text import build_calculation_document

        title = request.label.strip() or "Result of a calculation"
        document = build_calculation_document(title, calculation)
        with translate_errors(), HeartbeatThread():
            uri = f"calculation: {calculation.expression}"
            passages = self._knowledge.results.store_result(request.corpus, uri, document, request.question)
        return CalculateReply(text=calculation.text, passages=passages)

    @activity.defn
    def find_term(self, request: LookupRequest) -> LookupReply:
        """Find exact occurrences of a term in sources."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.retrieval.find_term(request)

    @activity.defn
    def cite_claim(self, request: CiteRequest) -> CiteReply:
        """Return a claim with the quotes of passages that concern it, and the sentences that state or deny it."""
        with translate_errors(), HeartbeatThread():
            passages = load_existing_passages(self._knowledge, request.passages)
        by_verdict = cite_decisive_sentences(request.claim, passages)
        return CiteReply(
            claim=cite_claim(request.claim, range(1, len(passages) + 1), passages),
            supporting=by_verdict["supported"],
            refuting=by_verdict["refuted"],
        )
