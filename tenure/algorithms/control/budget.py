"""Budgets: what a call is expected to use, what it costs, and one account of all that a run may still use.

Pure, so that the account lives in workflow state and survives every crash. Every part of a run draws
from the run's account before a call and settles when it ends. What is granted and not yet settled
counts as used, so that the limits hold whatever the parts do at the same time.
"""

from collections.abc import Iterator, Mapping

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.run.budget import Allowance, Amounts, Draw, Grant, Price, Resource
from tenure.contracts.run.run import Limits, Usage

BYTES_PER_TOKEN = 3
"""Fewer than languages and tokenisers have on average, so that an estimate errs on the safe side."""

PER_MILLION = 1_000_000

PASSAGE_TOKENS = 400
"""Tokens that a passage takes in a prompt, its marks included; chunks have 200 to 250 of the embedding model's."""

PROMPT_TOKENS = 2_000
"""Tokens of a role's own instructions and schema."""

ANSWERS = 3
"""Answers a call may take: the first and two re-asks."""

SLICE = 8
"""Part of what is left that is granted at once, where that is more than the least: one in so many."""

WRITE_UP = 0.15
"""Share of tokens and money that is held back for title and abstract."""

WRITE_UP_CALLS = 2
"""Calls that are held back for them, where there are at least twice as many."""

SCARCE = 0.8
"""Share of a budget from which on the run is told that little is left."""


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few."""
    return len(text.encode()) // BYTES_PER_TOKEN + 1


def cost(price: Price, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float:
    """Return the US dollars that a call costs.

    Args:
        price: of the model.
        tokens_in: prompt tokens, the cached ones included.
        tokens_out: answer tokens.
        tokens_cached: prompt tokens that the server had in its cache.
    """
    cached = price.input if price.cached_input is None else price.cached_input
    fresh = tokens_in - tokens_cached
    return (fresh * price.input + tokens_cached * cached + tokens_out * price.output) / PER_MILLION


def allowance(limits: Limits, prompt: str, passages: int, answers: int, said: int = 0) -> Allowance:
    """Return what so many answers to a prompt may use.

    Args:
        limits: of the run.
        prompt: the role's input.
        passages: how many passages it rests on.
        answers: of the model, re-asks included.
        said: tokens of the conversation before it.
    """
    tokens_in = said + estimated_tokens(prompt) + passages * PASSAGE_TOKENS + PROMPT_TOKENS
    return Allowance(
        calls=answers,
        tokens_in=answers * tokens_in + (answers - 1) * limits.call_output,  # a re-ask shows the answer before it
        tokens_out=answers * limits.call_output,
        priced=limits.max_cost_usd is not None,
    )


def reserved(limits: Limits, allowed: Allowance) -> Amounts:
    """Return what an allowance comes to at the most."""
    dearest = limits.dearest or Price(input=0.0, output=0.0)
    return Amounts(
        tokens=allowed.tokens_in + allowed.tokens_out,
        cost_usd=cost(dearest, allowed.tokens_in, allowed.tokens_out),
        calls=allowed.calls,
    )


def used(usage: Usage) -> Amounts:
    """Return what an account of calls has drawn from the budget."""
    return Amounts(
        tokens=usage.tokens_in + usage.tokens_out,
        cost_usd=usage.cost_usd or 0.0,
        calls=usage.model_calls,
        searches=usage.searches,
    )


def added(a: Amounts, b: Amounts) -> Amounts:
    """Return the sum."""
    return Amounts(
        tokens=a.tokens + b.tokens,
        cost_usd=a.cost_usd + b.cost_usd,
        calls=a.calls + b.calls,
        searches=a.searches + b.searches,
    )


def without(a: Amounts, b: Amounts) -> Amounts:
    """Return what is left of `a` when `b` is taken out; below nothing where there was less."""
    return Amounts(
        tokens=a.tokens - b.tokens,
        cost_usd=a.cost_usd - b.cost_usd,
        calls=a.calls - b.calls,
        searches=a.searches - b.searches,
    )


def covers(a: Amounts, b: Amounts, limits: Limits) -> bool:
    """Whether `a` is enough for `b` in everything that is limited."""
    return all(getattr(a, name) >= getattr(b, name) for name, _ in _limited(limits))


class Account(Contract):
    """What a run may use, and what its parts were granted."""

    limits: Limits
    """Of the run."""
    granted: Mapping[str, Amounts] = Field(default={})
    """By part: what it may use in all; what it did use, once it has ended."""
    known: Mapping[str, Amounts] = Field(default={})
    """By part: what it had used when the limits were last changed, as far as it has told."""

    @property
    def committed(self) -> Amounts:
        """What is used or may still be."""
        total = Amounts()
        for amounts in self.granted.values():
            total = added(total, amounts)
        return total

    def left(self, *, closing: bool = False) -> Amounts:
        """Return what may still be granted; what is held back for writing up only where it is for that."""
        whole = Amounts.model_validate(dict(_limited(self.limits)))
        return without(without(whole, self.committed), Amounts() if closing else _held_back(self.limits))

    def grant(self, draw: Draw) -> "tuple[Account, Grant]":
        """Return the account after a draw, and the answer to it: nothing where the least is not there."""
        if draw.used is not None:
            return self._brought_up(draw.reporter, draw.used).grant(draw.model_copy(update={"used": None}))
        left = self.left(closing=draw.closing)
        for name, _ in _limited(self.limits):
            if getattr(left, name) < getattr(draw.least, name):
                return self, Grant(number=draw.number, spent=_NAMES[name], allotment=draw.allotment)
        given = {name: draw.wanted.model_dump()[name] for name in Amounts.model_fields}
        for name, _ in _limited(self.limits):
            least, wanted, rest = (getattr(one, name) for one in (draw.least, draw.wanted, left))
            given[name] = max(least, min(wanted, rest // SLICE if isinstance(rest, int) else rest / SLICE))
        amounts = Amounts(**given)
        before = self.granted.get(draw.reporter, Amounts())
        answer = Grant(number=draw.number, amounts=amounts, allotment=draw.allotment)
        return self._with(draw.reporter, added(before, amounts)), answer

    def settled(self, reporter: str, usage: Usage) -> "Account":
        """Return the account when a part has ended: what it did not use is free again."""
        return self._with(reporter, used(usage))

    def under(self, limits: Limits, usages: Mapping[str, Usage]) -> "Account":
        """Return the account under other limits: what was granted under the old ones and not used is void."""
        known = {reporter: used(usage) for reporter, usage in usages.items()}
        return Account(limits=limits, granted=known, known=known)

    def _brought_up(self, reporter: str, amounts: Amounts) -> "Account":
        """Return the account with what a part had used and not told yet when the limits changed.

        Draws may arrive in another order than they were made, so that what was granted meanwhile stays.
        """
        untold = without(amounts, self.known.get(reporter, Amounts()))
        account = self._with(reporter, added(self.granted.get(reporter, Amounts()), untold))
        return account.model_copy(update={"known": {**self.known, reporter: amounts}})

    def _with(self, reporter: str, amounts: Amounts) -> "Account":
        return self.model_copy(update={"granted": {**self.granted, reporter: amounts}})


_NAMES: Mapping[str, Resource] = {
    "tokens": "tokens",
    "cost_usd": "money",
    "calls": "calls",
    "searches": "searches",
}


def _limited(limits: Limits) -> Iterator[tuple[str, int | float]]:
    """Yield what is limited, by its name in `Amounts`, with the limit."""
    for name in Amounts.model_fields:
        limit = getattr(limits, f"max_{name}")
        if limit is not None:
            yield name, limit


def _held_back(limits: Limits) -> Amounts:
    calls = limits.max_calls or 0
    return Amounts(
        tokens=int((limits.max_tokens or 0) * WRITE_UP),
        cost_usd=(limits.max_cost_usd or 0.0) * WRITE_UP,
        calls=WRITE_UP_CALLS if calls >= 2 * WRITE_UP_CALLS else 0,
    )


def shares(limits: Limits, amounts: Amounts, seconds: float) -> dict[Resource, float]:
    """Return which share of each limit is used up by amounts and seconds."""
    drawn: dict[Resource, float] = {_NAMES[name]: getattr(amounts, name) / limit for name, limit in _limited(limits)}
    return drawn if limits.max_seconds is None else drawn | {"time": seconds / limits.max_seconds}


def ceilings(limits: Limits) -> dict[Resource, float]:
    """Return what is limited, with the limit."""
    drawn: dict[Resource, float] = {_NAMES[name]: limit for name, limit in _limited(limits)}
    return drawn if limits.max_seconds is None else drawn | {"time": limits.max_seconds}


def in_words(limits: Limits, usage: Usage) -> tuple[str, ...]:
    """Say how much of each limit is used."""
    amounts = used(usage)
    words = {
        "tokens": f"{amounts.tokens:,} of {limits.max_tokens or 0:,} tokens",
        "cost_usd": f"{amounts.cost_usd:.4f} of {limits.max_cost_usd or 0:g} USD",
        "calls": f"{amounts.calls:,} of {limits.max_calls or 0:,} model calls",
        "searches": f"{amounts.searches:,} of {limits.max_searches or 0:,} searches",
    }
    return tuple(words[name] for name, _ in _limited(limits))


def named(limits: Limits, resource: Resource) -> str:
    """Name a limit for a report."""
    sizes: Mapping[Resource, str] = {
        "tokens": f"budget of {limits.max_tokens or 0:,} tokens",
        "money": f"budget of {limits.max_cost_usd or 0:g} USD",
        "calls": f"budget of {limits.max_calls or 0:,} model calls",
        "searches": f"budget of {limits.max_searches or 0:,} searches",
        "time": f"time of {limits.max_seconds or 0:g} s",
    }
    return f"the {sizes[resource]}"
