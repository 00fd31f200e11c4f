"""Limits of a run as fields of models, derived from the tables of `tenure.contracts.run.limits`."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from tenure.contracts.evidence.passages import SearchMode
from tenure.contracts.evidence.reasoning import ReasoningChoice
from tenure.contracts.evidence.rerank import RerankOptions
from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.run.limits import LIMITS

Complexity = Literal["simple", "moderate", "complex"]
"""Complexity of a question, which determines the amount of work."""


ReportLength = Literal["short", "standard", "long"]
"""Length of a report."""


def limit_field(name: str, *, has_maximum: bool = True) -> Any:
    """Return the field of a limit with its default, range and description."""
    limit = LIMITS[name]
    return Field(
        default=limit.default,
        ge=limit.minimum,
        gt=limit.above,
        le=limit.maximum if has_maximum else None,
        max_length=limit.max_length,
        description=limit.description,
    )


class BudgetFields(BaseModel):
    """Budgets of a run; None for no limit."""

    max_tokens: int | None = limit_field("max_tokens")
    max_cost_usd: float | None = limit_field("max_cost_usd")
    max_calls: int | None = limit_field("max_calls")
    max_searches: int | None = limit_field("max_searches")
    max_seconds: float | None = limit_field("max_seconds")


class LimitFields(BudgetFields):
    """All limits that settings and the command line set."""

    effort: Complexity | None = limit_field("effort")
    max_cycles: int | None = limit_field("max_cycles")
    subagents: int | None = limit_field("subagents")
    max_replans: int = limit_field("max_replans")
    strategy: RetrievalStrategy | None = limit_field("strategy")
    search_mode: SearchMode | None = limit_field("search_mode")
    max_sections: int = limit_field("max_sections")
    length: ReportLength = limit_field("length")
    max_report_revisions: int = limit_field("max_report_revisions")
    language: str = limit_field("language")
    reasoning: ReasoningChoice | None = limit_field("reasoning")
    reasoning_samples: int = limit_field("reasoning_samples")
    thought_breadth: int = limit_field("thought_breadth")
    thought_depth: int = limit_field("thought_depth")
    passages_per_section: int = limit_field("passages_per_section")
    max_per_source: int = limit_field("max_per_source")
    min_relevance: float = limit_field("min_relevance")
    min_novelty: float = limit_field("min_novelty")
    rerank_listwise: bool = limit_field("rerank_listwise")
    grace_seconds: float = limit_field("grace_seconds")
    max_history_events: int = limit_field("max_history_events")
    approve_plan: bool = limit_field("approve_plan")
    interactive: bool = limit_field("interactive")
    fresh: bool = limit_field("fresh")
    answer_seconds: float = limit_field("answer_seconds")
    max_code_attempts: int = limit_field("max_code_attempts")
    candidates: int = limit_field("candidates")
    program_seconds: float = limit_field("program_seconds")
    program_memory_mib: int = limit_field("program_memory_mib")
    repair_seconds: float = limit_field("repair_seconds")
    sandbox_wait_seconds: float = limit_field("sandbox_wait_seconds")
    rerank: RerankOptions = Field(
        default=RerankOptions(), description="Second stage of every search: its steps and their weights."
    )
