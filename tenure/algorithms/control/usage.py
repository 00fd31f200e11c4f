"""Account for the usage of a run: pure functions over values in workflow state."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, TypeVar

from tenure.contracts.evidence.corpora import IngestReport, IngestRequest
from tenure.contracts.evidence.passages import SearchReply
from tenure.contracts.run.role_calls import RoleReply, SavedUsage
from tenure.contracts.run.run import RoleUsage, RunLimits, Usage, WorkflowUsage

U = TypeVar("U", Usage, RoleUsage)
AnyUsage = TypeVar("AnyUsage", bound=Usage)
N = TypeVar("N", bound=str)

MAX_SUSPICIOUS_SOURCES = 50
"""Maximum number of sources with instructions that a usage names."""
CallSpan = tuple[int, int]


def count_answers(usage: Usage) -> int:
    """Return the number of model answers, those from the cache included: a repeated run has as many."""
    return usage.model_calls + usage.saved.model_calls


def add_call(usage: Usage, role: str, reply: RoleReply[Any]) -> Usage:
    """Return the usage plus one completed call of a role."""
    figures: dict[str, Any] = {
        "calls": 1,
        "model_calls": reply.model_calls,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "tokens_cached": reply.tokens_cached,
        "cost_usd": reply.cost_usd,
    }
    streamed = reply.first_token_seconds is not None
    of_role = RoleUsage(
        **figures, models=(reply.model,), streamed=int(streamed), first_token_seconds=reply.first_token_seconds
    )
    of_call = Usage(
        **figures,
        saved=reply.saved,
        exposed_calls=int(reply.exposed),
        suspicious_sources=reply.suspicious_sources,
        by_role={role: of_role},
    )
    return merge_usage([usage, of_call])


def record_call(usage: WorkflowUsage, role: str, reply: RoleReply[Any], span: CallSpan) -> WorkflowUsage:
    """Return the usage of a workflow plus a completed call of a role, whose answers followed each other in a span."""
    spans = select_minimal_spans((*usage.call_spans, *split_span(span, reply.model_calls)))
    return WorkflowUsage(**{**dict(add_call(usage, role, reply)), "call_spans": spans})


def sum_run_usage(accounts: Iterable[WorkflowUsage]) -> Usage:
    """Return the usage of a run from that of its workflows, with the critical path through all of them."""
    usages = list(accounts)
    path = measure_critical_path([span for account in usages for span in account.call_spans])
    return merge_usage(usages).model_copy(update={"critical_path": path})


def add_search(usage: AnyUsage, reply: SearchReply | None = None) -> AnyUsage:
    """Return the usage plus one search; None for one that is no search of passages."""
    found = reply or SearchReply(passages=())
    return usage.model_copy(
        update={
            "searches": usage.searches + 1,
            "embedded_share": min(usage.embedded_share, found.embedded_share),
            "searches_without_links": usage.searches_without_links + found.lacks_links,
            "untranslated": _join(usage.untranslated, found.foreign_languages),
        }
    )


def add_transcription(usage: AnyUsage, report: IngestReport) -> AnyUsage:
    """Return the usage plus the cost of transcribed recordings, if their price is known."""
    cost = report.transcription_cost_usd
    return usage.model_copy(update={"cost_usd": (usage.cost_usd or 0.0) + cost}) if cost else usage


def limit_transcription(ingest: IngestRequest, limits: RunLimits, usage: Usage) -> IngestRequest:
    """Return a request whose recordings may cost what the limits of a run leave after its usage."""
    if limits.max_cost_usd is None:
        return ingest
    left = max(0.0, limits.max_cost_usd - (usage.cost_usd or 0.0))
    return ingest.model_copy(update={"max_transcription_usd": left})


def merge_usage(accounts: Iterable[Usage]) -> Usage:
    """Return the sum of usages."""
    total = Usage()
    for account in accounts:
        by_role = dict(total.by_role)
        for role, used in account.by_role.items():
            by_role[role] = _merge_role_usage(by_role.get(role, RoleUsage()), used)
        total = Usage(
            **_sum_counts(total, account),
            searches=total.searches + account.searches,
            pages=total.pages + account.pages,
            embedded_share=min(total.embedded_share, account.embedded_share),
            searches_without_links=total.searches_without_links + account.searches_without_links,
            untranslated=_join(total.untranslated, account.untranslated),
            by_role=by_role,
            saved=_sum_saved(total.saved, account.saved),
            exposed_calls=total.exposed_calls + account.exposed_calls,
            suspicious_sources=_join(total.suspicious_sources, account.suspicious_sources)[:MAX_SUSPICIOUS_SOURCES],
        )
    return total


def _join(a: tuple[N, ...], b: tuple[N, ...]) -> tuple[N, ...]:
    return tuple(dict.fromkeys((*a, *b)))


def _merge_role_usage(a: RoleUsage, b: RoleUsage) -> RoleUsage:
    streamed = a.streamed + b.streamed
    seconds = sum(usage.streamed * (usage.first_token_seconds or 0.0) for usage in (a, b))
    return RoleUsage(
        **_sum_counts(a, b),
        models=tuple(dict.fromkeys([*a.models, *b.models])),
        streamed=streamed,
        first_token_seconds=seconds / streamed if streamed else None,
    )


def _sum_counts(a: U, b: U) -> dict[str, Any]:
    figures = ("calls", "model_calls", "tokens_in", "tokens_out", "tokens_cached")
    return {name: getattr(a, name) + getattr(b, name) for name in figures} | {"cost_usd": _sum_costs(a, b)}


def _sum_saved(a: SavedUsage, b: SavedUsage) -> SavedUsage:
    costs = [saved.cost_usd for saved in (a, b) if saved.answers]
    figures = ("answers", "model_calls", "tokens_in", "tokens_out")
    return SavedUsage(
        **{name: getattr(a, name) + getattr(b, name) for name in figures},
        cost_usd=sum(cost for cost in costs if cost is not None) if costs and None not in costs else None,
    )


def _sum_costs(a: U, b: U) -> float | None:
    """Return the sum of two costs; None if one of them contains calls without a known price."""
    if any(usage.cost_usd is None and usage.model_calls for usage in (a, b)):
        return None
    costs = [usage.cost_usd for usage in (a, b) if usage.cost_usd is not None]
    return sum(costs) if costs else None


def split_span(span: CallSpan, parts: int) -> tuple[CallSpan, ...]:
    """Return consecutive spans for the answers of one call, each at least one unit long; none for no answer."""
    start, end = span
    length = max(end - start, parts)
    edges = [start + length * part // parts for part in range(parts + 1)] if parts else []
    return tuple(pairwise(edges))


def select_minimal_spans(spans: Iterable[CallSpan]) -> tuple[CallSpan, ...]:
    """Return the spans that contain no other span, in order: a chain never needs one that does."""
    minimal: list[CallSpan] = []
    for start, end in sorted(spans, key=lambda span: (span[1], -span[0])):
        if not minimal or start > minimal[-1][0]:
            minimal.append((start, end))
    return tuple(minimal)


def measure_critical_path(spans: Iterable[CallSpan]) -> int:
    """Return the largest number of spans that follow each other without an overlap."""
    count, free = 0, None
    for start, end in sorted(spans, key=lambda span: span[1]):
        if free is None or start >= free:
            count, free = count + 1, end
    return count
