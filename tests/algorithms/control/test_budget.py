"""Tests of budget estimates, prices and the account of a run."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.control.budget import (
    MAX_ANSWERS_PER_CALL,
    BudgetAccount,
    add_amounts,
    compute_call_budget,
    compute_cost,
    compute_expected_amounts,
    compute_reservation,
    compute_used_amounts,
    compute_used_shares,
    count_shown_bytes,
    describe_limit,
    describe_usage,
    estimate_tokens,
    is_covered,
    is_sufficient,
    list_limits,
    refuse,
)
from tenure.contracts.run.budget import BudgetAmounts, BudgetRequest, BudgetResource, CallBudget, Price
from tenure.contracts.run.run import RunLimits, Usage
from tests.support.tiers import slow

PRICE = Price(input=2.0, output=10.0, cached_input=0.5)


def draw(
    least: BudgetAmounts, wanted: BudgetAmounts | None = None, reporter: str = "a", *, closing: bool = False
) -> BudgetRequest:
    return BudgetRequest(reporter=reporter, number=1, minimum=least, wanted=wanted or least, for_writing=closing)


def test_the_expected_usage_is_below_the_largest() -> None:
    """A call is expected to use one answer and fewer tokens than the most that it can use."""
    expected = compute_expected_amounts(1300, 12)
    most = compute_reservation(RunLimits(), compute_call_budget(RunLimits(), "What is rye? " * 100, 12, 1))

    assert expected.calls == 1
    assert 12 * 200 < expected.tokens < most.tokens


def test_citations_are_not_shown() -> None:
    """The quotes and ids of a claim are no part of a prompt, and neither are numbers."""
    claim = {"text": "Rye rises.", "citations": [{"quote": "rye rises"}], "confidence": 0.5}

    assert count_shown_bytes({"draft": {"claims": (claim, claim)}, "topics": ["Ruß"], "turn": None}) == 24


def test_token_estimates_are_high() -> None:
    """English texts have fewer tokens than estimated; other scripts get at least one per character."""
    assert estimate_tokens("") == 1
    assert estimate_tokens("four words of English") == 8
    assert estimate_tokens("研究報告書") > 5


def test_cost_matches_a_manual_computation() -> None:
    """A thousand prompt tokens, four hundred of them cached, and a hundred output tokens."""
    assert compute_cost(PRICE, 1000, 100, 400) == pytest.approx((600 * 2 + 400 * 0.5 + 100 * 10) / 1e6)
    assert compute_cost(Price(input=2.0, output=10.0), 1000, 100, 400) == pytest.approx((1000 * 2 + 100 * 10) / 1e6)


def test_call_budget_covers_retries() -> None:
    """Each retry repeats the prompt and the rejected answer; money is reserved at the highest price."""
    limits = RunLimits(max_cost_usd=1.0, max_call_output=1000, highest_price=PRICE)
    one = compute_call_budget(limits, "x" * 300, 2, 1)
    assert one == CallBudget(calls=1, tokens_in=101 + 800 + 2000, tokens_out=1000, priced=True)
    three = compute_call_budget(limits, "x" * 300, 2, MAX_ANSWERS_PER_CALL)
    assert three == CallBudget(calls=3, tokens_in=3 * 2901 + 2000, tokens_out=3000, priced=True)
    assert compute_reservation(limits, one) == BudgetAmounts(
        tokens=3901, cost_usd=(2901 * 2 + 1000 * 10) / 1e6, calls=1
    )
    assert (
        compute_reservation(RunLimits(max_tokens=9), compute_call_budget(RunLimits(max_tokens=9), "", 0, 1)).cost_usd
        == 0.0
    )


def test_unlimited_resources_are_granted_as_requested() -> None:
    """Unlimited resources are granted as requested."""
    account = BudgetAccount(limits=RunLimits(max_calls=10))
    after, grant = account.grant(draw(BudgetAmounts(tokens=10**9, calls=1), BudgetAmounts(tokens=10**10, calls=4)))
    assert grant.amounts == BudgetAmounts(tokens=10**10, calls=1)
    assert after.committed_amounts.tokens == 10**10
    assert BudgetAccount(limits=RunLimits()).grant(draw(BudgetAmounts(tokens=10**9)))[1].exhausted is None


def test_grants_shrink_with_the_remaining_budget() -> None:
    """Near the end a request gets no more than its minimum."""
    account = BudgetAccount(limits=RunLimits(max_searches=100))
    account, first = account.grant(draw(BudgetAmounts(searches=1), BudgetAmounts(searches=4)))
    assert first.amounts.searches == 4
    account = BudgetAccount(limits=RunLimits(max_searches=100), granted={"b": BudgetAmounts(searches=90)})
    assert account.grant(draw(BudgetAmounts(searches=1), BudgetAmounts(searches=4)))[1].amounts.searches == 1


def test_a_refusal_names_a_limited_resource() -> None:
    """A request that did not arrive is refused by the name of the first limited resource that it needs."""
    request = draw(BudgetAmounts(tokens=9, calls=1)).model_copy(update={"number": 7, "budget_revision": 2})
    grant = refuse(request, RunLimits(max_calls=5, max_searches=3))

    assert (grant.exhausted, grant.amounts) == ("calls", BudgetAmounts())
    assert (grant.number, grant.budget_revision) == (7, 2)
    assert refuse(draw(BudgetAmounts(searches=1)), RunLimits(max_calls=5, max_searches=3)).exhausted == "searches"


def test_settling_frees_unused_amounts() -> None:
    """Settling frees unused amounts."""
    account, _ = BudgetAccount(limits=RunLimits(max_tokens=1000)).grant(draw(BudgetAmounts(tokens=550)))
    assert account.grant(draw(BudgetAmounts(tokens=100), reporter="b"))[1].exhausted == "tokens"
    account = account.settle("a", Usage(tokens_in=90, tokens_out=10))
    assert account.compute_remaining(for_writing=True).tokens == 900
    assert account.grant(draw(BudgetAmounts(tokens=100), reporter="b"))[1].amounts.tokens == 100


def test_writing_reserve() -> None:
    """Two fifths of tokens and money, and three calls, are reserved for the report and its review."""
    account = BudgetAccount(limits=RunLimits(max_tokens=1000, max_calls=6, max_cost_usd=1.0))
    assert account.compute_remaining() == BudgetAmounts(tokens=600, calls=3, cost_usd=0.6)
    assert account.compute_remaining(for_writing=True) == BudgetAmounts(tokens=1000, calls=6, cost_usd=1.0)
    assert account.grant(draw(BudgetAmounts(tokens=900)))[1].exhausted == "tokens"
    assert account.grant(draw(BudgetAmounts(tokens=900), closing=True))[1].exhausted is None
    assert BudgetAccount(limits=RunLimits(max_calls=5)).compute_remaining().calls == 5


@slow
@given(
    limit=st.integers(0, 200).map(lambda n: 100 * (n + 1)),
    parts=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=200)
def test_limits_hold_for_any_order_of_requests(limit: int, parts: int, seed: int) -> None:
    """Limits are respected for any order of requests."""
    chance = random.Random(seed)
    account = BudgetAccount(limits=RunLimits(max_tokens=limit))
    spent = {f"p{n}": 0 for n in range(parts)}
    for _ in range(60):
        part = chance.choice(list(spent))
        least = chance.randint(1, 300)
        account, grant = account.grant(draw(BudgetAmounts(tokens=least), BudgetAmounts(tokens=4 * least), part))
        allowed = account.granted.get(part, BudgetAmounts()).tokens
        spent[part] = chance.randint(spent[part], max(allowed, spent[part]))
        if grant.exhausted is None and chance.random() < 0.3:
            account = account.settle(part, Usage(tokens_in=spent[part]))
        assert sum(spent.values()) <= account.committed_amounts.tokens <= limit


def test_usage_is_described() -> None:
    """Unlimited resources are left out."""
    limits = RunLimits(max_tokens=1000, max_cost_usd=2.0, max_calls=10, max_searches=4, max_seconds=60.0)
    usage = Usage(tokens_in=400, tokens_out=100, cost_usd=0.5, model_calls=3, searches=4)
    assert compute_used_amounts(usage) == BudgetAmounts(tokens=500, cost_usd=0.5, calls=3, searches=4)
    assert compute_used_shares(limits, compute_used_amounts(usage), 30.0) == {
        "tokens": 0.5,
        "money": 0.25,
        "calls": 0.3,
        "searches": 1.0,
        "time": 0.5,
    }
    assert compute_used_shares(RunLimits(max_tokens=1000), compute_used_amounts(usage), 30.0) == {"tokens": 0.5}
    assert describe_usage(limits, usage) == (
        "500 of 1,000 tokens",
        "0.5000 of 2 USD",
        "3 of 10 model calls",
        "4 of 4 searches",
    )
    assert describe_usage(RunLimits(), usage) == ()


def test_limits_are_listed() -> None:
    """Unlimited resources are left out."""
    assert list_limits(RunLimits(max_cost_usd=0.5, max_seconds=90)) == {"money": 0.5, "time": 90}
    assert list_limits(RunLimits(max_calls=7)) == {"calls": 7}


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        ("tokens", "the budget of 1,000 tokens"),
        ("money", "the budget of 2 USD"),
        ("calls", "the budget of 10 model calls"),
        ("searches", "the budget of 4 searches"),
        ("time", "the time of 60 s"),
    ],
)
def test_limits_are_described_for_reports(resource: BudgetResource, name: str) -> None:
    """Limits are described for reports."""
    limits = RunLimits(max_tokens=1000, max_cost_usd=2.0, max_calls=10, max_searches=4, max_seconds=60.0)
    assert describe_limit(limits, resource) == name


def test_amounts_are_added_and_compared() -> None:
    """Only limited resources decide whether an amount is sufficient."""
    both = add_amounts(BudgetAmounts(tokens=1, calls=2), BudgetAmounts(cost_usd=0.5, searches=3))
    assert both == BudgetAmounts(tokens=1, cost_usd=0.5, calls=2, searches=3)
    assert is_sufficient(both, BudgetAmounts(calls=3), RunLimits(max_tokens=1))
    assert not is_sufficient(both, BudgetAmounts(calls=3), RunLimits(max_calls=5))


def test_new_limits_cancel_unused_grants() -> None:
    """New limits cancel unused grants."""
    account, _ = BudgetAccount(limits=RunLimits(max_calls=80)).grant(
        draw(BudgetAmounts(calls=2), BudgetAmounts(calls=8))
    )
    account = account.change_limits(RunLimits(max_calls=10), {"a": Usage(model_calls=3)})

    assert account.committed_amounts == BudgetAmounts(calls=3)
    assert account.compute_remaining() == BudgetAmounts(calls=4)


def test_first_request_under_new_limits_reports_usage() -> None:
    """Unreported usage counts, and the grant names the budget revision."""
    account = BudgetAccount(limits=RunLimits(max_calls=80)).change_limits(
        RunLimits(max_calls=10), {"a": Usage(model_calls=3)}
    )
    first = draw(BudgetAmounts(calls=1)).model_copy(update={"budget_revision": 1, "used": BudgetAmounts(calls=4)})
    account, grant = account.grant(first)
    _, refused = account.grant(draw(BudgetAmounts(calls=9)).model_copy(update={"budget_revision": 1}))

    overtaken, _ = BudgetAccount(limits=RunLimits(max_calls=40)).grant(draw(BudgetAmounts(calls=1), reporter="b"))
    overtaken, _ = overtaken.grant(first.model_copy(update={"reporter": "b"}))

    assert (grant.budget_revision, grant.amounts.calls, account.committed_amounts.calls) == (1, 1, 5)
    assert overtaken.granted["b"].calls == 6
    assert (refused.budget_revision, refused.exhausted) == (1, "calls")


def test_announced_calls_replace_what_was_announced_before() -> None:
    """A part has used and expects what it announces last; granted searches stay, and too much names its resource."""
    account = BudgetAccount(limits=RunLimits(max_calls=9, max_tokens=100_000, max_searches=3))
    account, _ = account.grant(draw(BudgetAmounts(searches=2)))

    announced = account.announce("a", BudgetAmounts(), BudgetAmounts(calls=1, tokens=4_000))
    again = announced.announce("a", BudgetAmounts(calls=1, tokens=3_000), BudgetAmounts(calls=5, tokens=9_000))

    assert announced.committed_amounts == BudgetAmounts(calls=1, tokens=4_000, searches=2)
    assert again.committed_amounts == BudgetAmounts(calls=6, tokens=12_000, searches=2)
    assert again.find_exceeded() is None
    exceeded = again.announce("b", BudgetAmounts(), BudgetAmounts(calls=1))
    assert (exceeded.find_exceeded(), exceeded.find_exceeded(for_writing=True)) == ("calls", None)


def test_a_request_replaces_what_its_part_has_announced() -> None:
    """A part that requests a call beyond its share names what it has used and what it expects meanwhile."""
    account = BudgetAccount(limits=RunLimits(max_calls=8, max_tokens=100_000))
    account = account.announce("a", BudgetAmounts(), BudgetAmounts(calls=2, tokens=8_000))
    request = draw(BudgetAmounts(calls=1, tokens=4_000)).model_copy(
        update={"used": BudgetAmounts(calls=1, tokens=5_000), "in_progress": BudgetAmounts(calls=1, tokens=4_000)}
    )

    account, grant = account.grant(request)

    assert grant.amounts == BudgetAmounts(calls=1, tokens=4_000)
    assert account.committed_amounts == BudgetAmounts(calls=3, tokens=13_000)


def test_a_share_covers_tokens_and_calls() -> None:
    """A share of an effort limits both."""
    share = BudgetAmounts(calls=4, tokens=10_000)

    assert is_covered(BudgetAmounts(calls=4, tokens=10_000, searches=9), share)
    assert not is_covered(BudgetAmounts(calls=5), share)
    assert not is_covered(BudgetAmounts(tokens=10_001), share)
