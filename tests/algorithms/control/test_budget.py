"""Budgets: estimates, prices, and the one account that all parts of a run draw from."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.control.budget import (
    ANSWERS,
    Account,
    added,
    allowance,
    ceilings,
    cost,
    covers,
    estimated_tokens,
    in_words,
    named,
    reserved,
    shares,
    used,
)
from tenure.contracts.run.budget import Allowance, Amounts, Draw, Price, Resource
from tenure.contracts.run.run import Limits, Usage

PRICE = Price(input=2.0, output=10.0, cached_input=0.5)


def draw(least: Amounts, wanted: Amounts | None = None, reporter: str = "a", *, closing: bool = False) -> Draw:
    return Draw(reporter=reporter, number=1, least=least, wanted=wanted or least, closing=closing)


def test_estimates_err_on_the_safe_side() -> None:
    """A text is taken for more tokens than English has, and one of other scripts for no fewer than characters."""
    assert estimated_tokens("") == 1
    assert estimated_tokens("four words of English") == 8
    assert estimated_tokens("研究報告書") > 5


def test_money_is_counted_by_hand() -> None:
    """A thousand prompt tokens, four hundred of them cached, and a hundred answer tokens."""
    assert cost(PRICE, 1000, 100, 400) == pytest.approx((600 * 2 + 400 * 0.5 + 100 * 10) / 1e6)
    assert cost(Price(input=2.0, output=10.0), 1000, 100, 400) == pytest.approx((1000 * 2 + 100 * 10) / 1e6)


def test_an_allowance_covers_its_answers() -> None:
    """Each re-ask pays the prompt again and the answer it complains about; money is reserved by the dearest price."""
    limits = Limits(max_cost_usd=1.0, call_output=1000, dearest=PRICE)
    one = allowance(limits, "x" * 300, 2, 1)
    assert one == Allowance(calls=1, tokens_in=101 + 800 + 2000, tokens_out=1000, priced=True)
    three = allowance(limits, "x" * 300, 2, ANSWERS)
    assert three == Allowance(calls=3, tokens_in=3 * 2901 + 2000, tokens_out=3000, priced=True)
    assert allowance(limits, "x" * 300, 2, ANSWERS, said=500).tokens_in == three.tokens_in + 3 * 500
    assert reserved(limits, one) == Amounts(tokens=3901, cost_usd=(2901 * 2 + 1000 * 10) / 1e6, calls=1)
    assert reserved(Limits(max_tokens=9), allowance(Limits(max_tokens=9), "", 0, 1)).cost_usd == 0.0


def test_what_is_not_limited_is_always_there() -> None:
    """A draw is judged by the limits there are, and unlimited resources are granted as wanted."""
    account = Account(limits=Limits(max_calls=10))
    after, grant = account.grant(draw(Amounts(tokens=10**9, calls=1), Amounts(tokens=10**10, calls=4)))
    assert grant.amounts == Amounts(tokens=10**10, calls=1)
    assert after.committed.tokens == 10**10
    assert Account(limits=Limits()).grant(draw(Amounts(tokens=10**9)))[1].spent is None


def test_slices_shrink_with_what_is_left() -> None:
    """While there is much a draw gets what it wants; near the end no more than it cannot do without."""
    account = Account(limits=Limits(max_searches=100))
    account, first = account.grant(draw(Amounts(searches=1), Amounts(searches=4)))
    assert first.amounts.searches == 4
    account = Account(limits=Limits(max_searches=100), granted={"b": Amounts(searches=90)})
    assert account.grant(draw(Amounts(searches=1), Amounts(searches=4)))[1].amounts.searches == 1


def test_a_part_that_ends_frees_what_it_did_not_use() -> None:
    """Settling replaces what was granted by what was used."""
    account, _ = Account(limits=Limits(max_tokens=1000)).grant(draw(Amounts(tokens=800)))
    assert account.grant(draw(Amounts(tokens=100), reporter="b"))[1].spent == "tokens"
    account = account.settled("a", Usage(tokens_in=90, tokens_out=10))
    assert account.left(closing=True).tokens == 900
    assert account.grant(draw(Amounts(tokens=100), reporter="b"))[1].amounts.tokens == 100


def test_a_part_is_held_back_for_writing_up() -> None:
    """Fifteen per cent of tokens and money, and two calls of many, are there for title and abstract alone."""
    account = Account(limits=Limits(max_tokens=1000, max_calls=4, max_cost_usd=1.0))
    assert account.left() == Amounts(tokens=850, calls=2, cost_usd=0.85)
    assert account.left(closing=True) == Amounts(tokens=1000, calls=4, cost_usd=1.0)
    assert account.grant(draw(Amounts(tokens=900)))[1].spent == "tokens"
    assert account.grant(draw(Amounts(tokens=900), closing=True))[1].spent is None
    assert Account(limits=Limits(max_calls=3)).left().calls == 3


@given(
    limit=st.integers(0, 200).map(lambda n: 100 * (n + 1)),
    parts=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=200)
def test_parts_that_keep_to_their_grants_keep_the_limit(limit: int, parts: int, seed: int) -> None:
    """Whatever the order of draws, uses and ends, the sum of what was used never passes the limit."""
    chance = random.Random(seed)
    account = Account(limits=Limits(max_tokens=limit))
    spent = {f"p{n}": 0 for n in range(parts)}
    for _ in range(60):
        part = chance.choice(list(spent))
        least = chance.randint(1, 300)
        account, grant = account.grant(draw(Amounts(tokens=least), Amounts(tokens=4 * least), part))
        allowed = account.granted.get(part, Amounts()).tokens
        spent[part] = chance.randint(spent[part], max(allowed, spent[part]))
        if grant.spent is None and chance.random() < 0.3:
            account = account.settled(part, Usage(tokens_in=spent[part]))
        assert sum(spent.values()) <= account.committed.tokens <= limit


def test_shares_and_words() -> None:
    """How much of each limit is used is told as a share and in words; nothing is said of what is not limited."""
    limits = Limits(max_tokens=1000, max_cost_usd=2.0, max_calls=10, max_searches=4, max_seconds=60.0)
    usage = Usage(tokens_in=400, tokens_out=100, cost_usd=0.5, model_calls=3, searches=4)
    assert used(usage) == Amounts(tokens=500, cost_usd=0.5, calls=3, searches=4)
    assert shares(limits, used(usage), 30.0) == {
        "tokens": 0.5,
        "money": 0.25,
        "calls": 0.3,
        "searches": 1.0,
        "time": 0.5,
    }
    assert shares(Limits(max_tokens=1000), used(usage), 30.0) == {"tokens": 0.5}
    assert in_words(limits, usage) == (
        "500 of 1,000 tokens",
        "0.5000 of 2 USD",
        "3 of 10 model calls",
        "4 of 4 searches",
    )
    assert in_words(Limits(), usage) == ()


def test_ceilings_name_what_is_limited() -> None:
    """A run's limits are listed by what they bound, and what is free has none."""
    assert ceilings(Limits(max_cost_usd=0.5, max_seconds=90)) == {"money": 0.5, "time": 90}
    assert ceilings(Limits(max_calls=7)) == {"calls": 7}


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
def test_limits_have_names(resource: Resource, name: str) -> None:
    """A report says which budget was used up, and how large it was."""
    limits = Limits(max_tokens=1000, max_cost_usd=2.0, max_calls=10, max_searches=4, max_seconds=60.0)
    assert named(limits, resource) == name


def test_amounts_add_up() -> None:
    """Sums are taken of every resource, and cover a need only if every limited one does."""
    both = added(Amounts(tokens=1, calls=2), Amounts(cost_usd=0.5, searches=3))
    assert both == Amounts(tokens=1, cost_usd=0.5, calls=2, searches=3)
    assert covers(both, Amounts(calls=3), Limits(max_tokens=1))
    assert not covers(both, Amounts(calls=3), Limits(max_calls=5))


def test_new_limits_void_what_was_granted_and_not_used() -> None:
    """Under other limits each part has what it has used, and draws anew from the rest."""
    account, _ = Account(limits=Limits(max_calls=80)).grant(draw(Amounts(calls=2), Amounts(calls=8)))
    account = account.under(Limits(max_calls=10), {"a": Usage(model_calls=3)})

    assert account.committed == Amounts(calls=3)
    assert account.left() == Amounts(calls=5)


def test_the_first_draw_under_new_limits_says_what_was_used() -> None:
    """What a part has used since it last told is not forgotten, and the answer names the limits it belongs to."""
    account = Account(limits=Limits(max_calls=80)).under(Limits(max_calls=10), {"a": Usage(model_calls=3)})
    first = draw(Amounts(calls=1)).model_copy(update={"allotment": 1, "used": Amounts(calls=4)})
    account, grant = account.grant(first)
    _, refused = account.grant(draw(Amounts(calls=9)).model_copy(update={"allotment": 1}))

    overtaken, _ = Account(limits=Limits(max_calls=40)).grant(draw(Amounts(calls=1), reporter="b"))
    overtaken, _ = overtaken.grant(first.model_copy(update={"reporter": "b"}))

    assert (grant.allotment, grant.amounts.calls, account.committed.calls) == (1, 1, 5)
    assert overtaken.granted["b"].calls == 6
    assert (refused.allotment, refused.spent) == (1, "calls")
