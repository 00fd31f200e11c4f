"""Accounts of what a run used."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.control.usage import add_call, add_search, merge_usage
from tenure.contracts.run.role_calls import RoleReply
from tenure.contracts.run.run import Feedback, RoleUsage, Usage

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["router", "outliner", "section_writer"]),
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


@given(CALLS)
@settings(deadline=None)
def test_totals_are_the_sums_of_the_roles(calls: list[tuple[str, str, int, int]]) -> None:
    """Every call is counted once for its role and once for the run."""
    usage = account(calls)

    assert usage.calls == len(calls) == sum(role.calls for role in usage.by_role.values())
    assert usage.tokens_in == sum(call[2] for call in calls) == sum(r.tokens_in for r in usage.by_role.values())
    assert usage.tokens_out == sum(call[3] for call in calls) == sum(r.tokens_out for r in usage.by_role.values())


@given(st.lists(st.tuples(CALLS, st.integers(0, 5)), max_size=4))
@settings(deadline=None)
def test_merged_accounts_are_one_account_of_everything(
    parts: list[tuple[list[tuple[str, str, int, int]], int]],
) -> None:
    """Merging the accounts of children gives what one account of all their calls would hold."""
    whole = account([call for calls, _ in parts for call in calls], sum(searches for _, searches in parts))

    assert whole == merge_usage(account(calls, searches) for calls, searches in parts)


def test_models_are_named_once_in_the_order_they_answered() -> None:
    """A role's models are listed without repetition."""
    usage = account([("router", "b", 1, 1), ("router", "a", 1, 1), ("router", "b", 1, 1)])

    assert usage.by_role == {"router": RoleUsage(calls=3, model_calls=3, tokens_in=3, tokens_out=3, models=("b", "a"))}


def test_an_account_is_not_changed_in_place() -> None:
    """Counting returns a new account, since the old one may already be in a history."""
    before = Usage()

    add_call(before, "router", reply("offline", 1, 1))

    assert before == Usage()


def test_pages_are_summed() -> None:
    """Fetched pages of several accounts add up."""
    assert merge_usage([Usage(pages=2), Usage(pages=3)]).pages == 5


@pytest.mark.parametrize(
    ("costs", "total"),
    [((0.5, 0.25), 0.75), ((0.5, None), None), ((None, None), None), ((0.5,), 0.5)],
)
def test_money_is_known_only_where_every_price_is(costs: tuple[float | None, ...], total: float | None) -> None:
    """One paid answer without a price makes the whole sum unknown; twins, which cost nothing, do not."""
    usage = add_call(Usage(), "router", reply("offline", 0, 0))
    for cost in costs:
        usage = add_call(usage, "title_writer", reply("m", 1, 1, cost_usd=cost))
    assert usage.cost_usd == usage.by_role["title_writer"].cost_usd == total
    assert add_call(usage, "router", reply("offline", 0, 0)).cost_usd == total


def test_times_to_the_first_token_are_averaged_over_the_streamed_answers() -> None:
    """An answer that was not streamed has no part in the mean."""
    usage = Usage()
    for seconds in (0.5, None, 1.5):
        usage = add_call(usage, "section_writer", reply("m", 1, 1, first_token_seconds=seconds))
    used = usage.by_role["section_writer"]
    assert (used.calls, used.streamed, used.first_token_seconds) == (3, 2, 1.0)


def test_the_least_share_of_vectors_is_kept() -> None:
    """Over searches and over parts of a run, the search that had fewest vectors to go by is what counts."""
    parts = [add_search(add_search(Usage(), 0.5), 0.7), add_search(Usage(), 0.4), Usage()]

    assert [part.embedded_share for part in parts] == [0.5, 0.4, 1.0]
    assert (merge_usage(parts).embedded_share, merge_usage(parts).searches) == (0.4, 3)
