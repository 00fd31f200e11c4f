"""Tests of the usage of a run."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.control.usage import (
    add_call,
    add_search,
    add_transcription,
    count_answers,
    limit_transcription,
    merge_usage,
    record_call,
    sum_run_usage,
)
from tenure.contracts.evidence.corpora import IngestReport, IngestRequest
from tenure.contracts.evidence.passages import SearchReply
from tenure.contracts.run.role_calls import RoleReply, SavedUsage
from tenure.contracts.run.run import Feedback, RoleUsage, RunLimits, Usage, WorkflowUsage
from tests.support.tiers import slow

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["router", "outliner", "report_writer"]),
        st.sampled_from(["offline", "gpt-5"]),
        st.integers(0, 1000),
        st.integers(0, 1000),
    ),
    max_size=8,
)


def reply(model: str, tokens_in: int, tokens_out: int, **used: Any) -> RoleReply[Feedback]:
    answered = int(model != "offline")
    return RoleReply[Feedback](
        output=Feedback(text="said"),
        model=model,
        model_calls=used.pop("model_calls", answered),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        **used,
    )


def account(calls: list[tuple[str, str, int, int]], searches: int = 0) -> Usage:
    usage = Usage()
    for role, model, tokens_in, tokens_out in calls:
        usage = add_call(usage, role, reply(model, tokens_in, tokens_out))
    for _ in range(searches):
        usage = add_search(usage)
    return usage


@slow
@given(CALLS)
@settings(deadline=None)
def test_totals_are_the_sums_of_the_roles(calls: list[tuple[str, str, int, int]]) -> None:
    """Every call counts once for its role and once for the run."""
    usage = account(calls)

    assert usage.calls == len(calls) == sum(role.calls for role in usage.by_role.values())
    assert usage.tokens_in == sum(call[2] for call in calls) == sum(r.tokens_in for r in usage.by_role.values())
    assert usage.tokens_out == sum(call[3] for call in calls) == sum(r.tokens_out for r in usage.by_role.values())


@slow
@given(st.lists(st.tuples(CALLS, st.integers(0, 5)), max_size=4))
@settings(deadline=None)
def test_merged_usage_equals_usage_of_all_calls(
    parts: list[tuple[list[tuple[str, str, int, int]], int]],
) -> None:
    """Merged usage equals usage of all calls."""
    whole = account([call for calls, _ in parts for call in calls], sum(searches for _, searches in parts))

    assert whole == merge_usage(account(calls, searches) for calls, searches in parts)


def test_models_are_listed_once_in_order() -> None:
    """Models are listed once in order."""
    usage = account([("router", "b", 1, 1), ("router", "a", 1, 1), ("router", "b", 1, 1)])

    assert usage.by_role == {"router": RoleUsage(calls=3, model_calls=3, tokens_in=3, tokens_out=3, models=("b", "a"))}


def test_usage_is_immutable() -> None:
    """Usage is immutable."""
    before = Usage()

    add_call(before, "router", reply("offline", 1, 1))

    assert before == Usage()


def test_pages_are_summed() -> None:
    """Pages are summed."""
    assert merge_usage([Usage(pages=2), Usage(pages=3)]).pages == 5


@pytest.mark.parametrize(
    ("costs", "total"),
    [((0.5, 0.25), 0.75), ((0.5, None), None), ((None, None), None), ((0.5,), 0.5)],
)
def test_cost_is_unknown_if_a_price_is_unknown(costs: tuple[float | None, ...], total: float | None) -> None:
    """One paid answer without a price makes the sum unknown; fallbacks, which are free, do not."""
    usage = add_call(Usage(), "router", reply("offline", 0, 0))
    for cost in costs:
        usage = add_call(usage, "outliner", reply("m", 1, 1, cost_usd=cost))
    assert usage.cost_usd == usage.by_role["outliner"].cost_usd == total
    assert add_call(usage, "router", reply("offline", 0, 0)).cost_usd == total


def test_first_token_time_is_averaged_over_streamed_answers() -> None:
    """First token time is averaged over streamed answers."""
    usage = Usage()
    for seconds in (0.5, None, 1.5):
        usage = add_call(usage, "report_writer", reply("m", 1, 1, first_token_seconds=seconds))
    used = usage.by_role["report_writer"]
    assert (used.calls, used.streamed, used.first_token_seconds) == (3, 2, 1.0)


def test_lowest_share_of_vectors_is_kept() -> None:
    """Lowest share of vectors is kept."""
    half, most, less = (SearchReply(passages=(), embedded_share=share) for share in (0.5, 0.7, 0.4))
    parts = [add_search(add_search(Usage(), half), most), add_search(Usage(), less), Usage()]

    assert [part.embedded_share for part in parts] == [0.5, 0.4, 1.0]
    assert (merge_usage(parts).embedded_share, merge_usage(parts).searches) == (0.4, 3)


def test_a_recorded_call_keeps_its_times() -> None:
    """The usage of a workflow has the spans of answers, and that of the run the path through all workflows."""
    first = record_call(WorkflowUsage(), "router", reply("gpt-5", 10, 2), (0, 10))
    first = record_call(first, "planner", reply("gpt-5", 10, 2, model_calls=2), (10, 30))
    first = record_call(first, "decider", reply("offline", 0, 0), (30, 40))
    second = record_call(WorkflowUsage(), "report_writer", reply("gpt-5", 10, 2), (30, 50))
    total = sum_run_usage([first, second])

    assert first.call_spans == ((0, 10), (10, 20), (20, 30))
    assert (total.calls, total.model_calls, total.critical_path) == (4, 4, 4)
    assert sum_run_usage([]).critical_path == 0


@pytest.mark.parametrize(("costs", "total"), [((), None), ((0.5, 0.25), 0.75), ((0.5, None), None)])
def test_savings_are_summed(costs: tuple[float | None, ...], total: float | None) -> None:
    """Cached answers are counted with what they had cost; the cost is unknown if one of them has no price."""
    saved = [SavedUsage(answers=1, model_calls=2, tokens_in=10, tokens_out=5, cost_usd=cost) for cost in costs]
    replies = [reply("m", 0, 0, model_calls=0, saved=one) for one in saved] + [reply("m", 3, 4)]

    usage = merge_usage(add_call(Usage(), "router", one) for one in replies)

    n = len(costs)
    assert usage.saved == SavedUsage(answers=n, model_calls=2 * n, tokens_in=10 * n, tokens_out=5 * n, cost_usd=total)
    assert (usage.tokens_in, usage.model_calls) == (3, 1)


def test_cached_answers_count_like_others() -> None:
    """A repeated run, whose answers are cached, has as many as the first one."""
    first = Usage(model_calls=3)
    repeated = Usage(model_calls=1, saved=SavedUsage(answers=1, model_calls=2))

    assert count_answers(first) == count_answers(repeated) == 3


@pytest.mark.parametrize(("price", "cost"), [(0.006, 0.51), (None, 0.5)])
def test_transcribed_minutes_are_part_of_the_cost(price: float | None, cost: float) -> None:
    """Recordings add their cost, if a price is known, and are no answers of a role."""
    report = IngestReport(corpus="c", transcribed_seconds=100, transcription_price=price)
    usage = add_transcription(Usage(cost_usd=0.5, model_calls=1), report)

    assert usage.cost_usd == pytest.approx(cost)
    assert usage.model_calls == 1


@pytest.mark.parametrize(("most", "left"), [(None, None), (2.0, 1.5), (0.25, 0.0)])
def test_recordings_may_cost_what_is_left(most: float | None, left: float | None) -> None:
    """The maximum cost of a run, less what it has spent, limits the transcription of its documents."""
    request = IngestRequest(corpus="c", paths=("/docs",))
    limited = limit_transcription(request, RunLimits(max_cost_usd=most), Usage(cost_usd=0.5))

    assert limited.max_transcription_usd == left
