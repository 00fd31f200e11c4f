"""Estimate, price and account for the budget of a run: reservation before a call, settlement after it.

Pure functions over immutable values, so that the account is part of workflow state and survives crashes. Every part of
a run reserves an amount from the run's account before a call and settles when it ends. Amounts that are granted and not
yet settled count as used, so that concurrent parts cannot exceed the limits together.
"""

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.run.budget import BudgetAmounts, BudgetGrant, BudgetRequest, BudgetResource, CallBudget, Price
from tenure.contracts.run.run import RunLimits, Usage

BYTES_PER_TOKEN = 3
"""Bytes of UTF-8 text per token. Languages and tokenizers average more, so estimates are rather too high."""

TOKENS_PER_PRICE = 1_000_000

PASSAGE_TOKENS = 400
"""Tokens of a passage in a prompt, markup included; chunks have 200 to 250 tokens of the embedding model."""

MAX_IMAGE_TOKENS = 3_800
"""Maximum tokens of a picture in a prompt: OpenAI counts at most 1,536 squares of 32 × 32 pixels, times 2.46 for
gpt-4.1-nano."""

PROMPT_TOKENS = 2_000
"""Tokens of a role's instructions and output schema."""

MAX_ANSWERS_PER_CALL = 3
"""Maximum number of answers per call: the first one and two retries."""

GRANT_DIVISOR = 8
"""A grant is at most the remaining budget divided by this, unless the minimum of the request is larger."""

WRITING_RESERVE_SHARE = 0.4
"""Share of tokens and money that is reserved for the report and its review, which read the whole dossier: of the prompt
tokens of a measured run 64 % (moderate) and 40 % (complex). A full dossier of a moderate run takes about 62,000 tokens
for both, and the reserve of its effort is 64,000."""

WRITING_RESERVE_CALLS = 3
"""Calls reserved for the report, its review, and a correction or the check of claims, if the limit is at least twice as
high."""

RUNNING_LOW_THRESHOLD = 0.8
"""Used share of a budget from which the run reports that it is running low."""


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text, rather too high than too low."""
    return len(text.encode()) // BYTES_PER_TOKEN + 1


def compute_cost(price: Price, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float:
    """Return the cost of a call in US dollars; `tokens_in` includes those that the server read from its cache."""
    cached = price.input if price.cached_input is None else price.cached_input
    fresh = tokens_in - tokens_cached
    return (fresh * price.input + tokens_cached * cached + tokens_out * price.output) / TOKENS_PER_PRICE


def compute_call_budget(limits: RunLimits, prompt: str, passages: int, answers: int, images: int = 0) -> CallBudget:
    """Return the maximum usage of a call with passages and pictures in its prompt, and of answers with its retries."""
    tokens_in = estimate_tokens(prompt) + passages * PASSAGE_TOKENS + images * MAX_IMAGE_TOKENS + PROMPT_TOKENS
    return CallBudget(
        calls=answers,
        tokens_in=answers * tokens_in + (answers - 1) * limits.max_call_output,  # a re-ask shows the answer before it
        tokens_out=answers * limits.max_call_output,
        priced=limits.max_cost_usd is not None,
    )


EXPECTED_BYTES_PER_TOKEN, EXPECTED_PASSAGE_TOKENS = 4, 250
"""Bytes of a text per token, and tokens of a passage, as they are on average."""
EXPECTED_IMAGE_TOKENS = 1_600
"""Tokens of a picture on average: of 61 figures of eight papers, models of OpenAI with tiles count 595 to 1,105, those
with squares 152 to 1,520 times 1 to 2.46, 1,170 on average for gpt-4.1-mini; Qwen2.5-VL counts 1,376."""
EXPECTED_INSTRUCTION_TOKENS, EXPECTED_ANSWER_TOKENS = 1_000, 500
"""Tokens of a role's instructions with its schema, and of an answer, as they are on average."""


def count_shown_bytes(value: Any) -> int:
    """Return the bytes of the texts of a role's input, without its citations, which prompts show as numbers."""
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, Mapping):
        return sum(count_shown_bytes(part) for name, part in value.items() if name != "citations")
    return sum(map(count_shown_bytes, value)) if isinstance(value, list | tuple) else 0


def compute_expected_amounts(shown_bytes: int, passages: int, images: int = 0) -> BudgetAmounts:
    """Return the amounts that a call is expected to use, by the bytes of the role's input, passages and pictures."""
    written = (
        shown_bytes // EXPECTED_BYTES_PER_TOKEN + passages * EXPECTED_PASSAGE_TOKENS + images * EXPECTED_IMAGE_TOKENS
    )
    tokens = written + EXPECTED_INSTRUCTION_TOKENS + EXPECTED_ANSWER_TOKENS
    return BudgetAmounts(tokens=tokens, calls=1)


def compute_reservation(limits: RunLimits, budget: CallBudget) -> BudgetAmounts:
    """Return the amounts to reserve for a call at the highest price of the run's models."""
    highest_price = limits.highest_price or Price(input=0.0, output=0.0)
    return BudgetAmounts(
        tokens=budget.tokens_in + budget.tokens_out,
        cost_usd=compute_cost(highest_price, budget.tokens_in, budget.tokens_out),
        calls=budget.calls,
    )


def compute_used_amounts(usage: Usage) -> BudgetAmounts:
    """Return the amounts that recorded usage takes from the budget."""
    tokens, cost_usd = usage.tokens_in + usage.tokens_out, usage.cost_usd or 0.0
    return BudgetAmounts(tokens=tokens, cost_usd=cost_usd, calls=usage.model_calls, searches=usage.searches)


def add_amounts(a: BudgetAmounts, b: BudgetAmounts, sign: int = 1) -> BudgetAmounts:
    """Return a + sign·b; amounts may become negative."""
    return BudgetAmounts(**{name: value + sign * getattr(b, name) for name, value in a})


def is_sufficient(available: BudgetAmounts, required: BudgetAmounts, limits: RunLimits) -> bool:
    """Return whether `available` covers `required` in every limited amount."""
    return all(getattr(available, name) >= getattr(required, name) for name, _ in _iterate_limits(limits))


def is_covered(amounts: BudgetAmounts, share: BudgetAmounts) -> bool:
    """Return whether a share of an effort covers tokens and calls."""
    return amounts.tokens <= share.tokens and amounts.calls <= share.calls


class BudgetAccount(Contract):
    """Limits of a run, and the amounts granted to its parts."""

    limits: RunLimits
    granted: Mapping[str, BudgetAmounts] = Field(default={})
    """Granted amounts by part of the run; used amounts once the part has ended."""
    reported: Mapping[str, BudgetAmounts] = Field(default={})
    """Amounts by part that were known to be used when the limits last changed."""

    @property
    def committed_amounts(self) -> BudgetAmounts:
        """Amounts that are used or granted."""
        return reduce(add_amounts, self.granted.values(), BudgetAmounts())

    def compute_remaining(self, *, for_writing: bool = False) -> BudgetAmounts:
        """Return the amounts that can still be granted; the writing reserve is included only if `for_writing`."""
        limit = BudgetAmounts.model_validate(dict(_iterate_limits(self.limits)))
        remaining = add_amounts(limit, self.committed_amounts, -1)
        return remaining if for_writing else add_amounts(remaining, compute_writing_reserve(self.limits), -1)

    def grant(self, request: BudgetRequest) -> "tuple[BudgetAccount, BudgetGrant]":
        """Return the account after a request, and the grant; the grant is empty if the minimum is not available."""
        if request.used is not None:
            account = (
                self._record_unreported(request.reporter, request.used)
                if request.in_progress is None
                else self.announce(request.reporter, request.used, request.in_progress)
            )
            return account.grant(request.model_copy(update={"used": None}))
        remaining = self.compute_remaining(for_writing=request.for_writing)
        for name, _ in _iterate_limits(self.limits):
            if getattr(remaining, name) < getattr(request.minimum, name):
                return self, BudgetGrant(
                    number=request.number, exhausted=_RESOURCE_NAMES[name], budget_revision=request.budget_revision
                )
        granted = dict(request.wanted)
        for name, _ in _iterate_limits(self.limits):
            minimum, available = getattr(request.minimum, name), getattr(remaining, name)
            share = available // GRANT_DIVISOR if isinstance(available, int) else available / GRANT_DIVISOR
            granted[name] = max(minimum, min(granted[name], share))
        amounts = BudgetAmounts(**granted)
        before = self.granted.get(request.reporter, BudgetAmounts())
        answer = BudgetGrant(number=request.number, amounts=amounts, budget_revision=request.budget_revision)
        return self._set_granted(request.reporter, add_amounts(before, amounts)), answer

    def announce(self, reporter: str, used: BudgetAmounts, expected: BudgetAmounts) -> "BudgetAccount":
        """Return the account after a part has started calls without a request; searches are granted separately."""
        searches = self.granted.get(reporter, BudgetAmounts()).searches
        amounts = add_amounts(used, expected)
        return self._set_granted(reporter, amounts.model_copy(update={"searches": searches}))

    def find_exceeded(self, *, for_writing: bool = False) -> BudgetResource | None:
        """Return a resource of which more is used or granted than the limits allow."""
        remaining = self.compute_remaining(for_writing=for_writing)
        return next(
            (_RESOURCE_NAMES[name] for name, _ in _iterate_limits(self.limits) if getattr(remaining, name) < 0), None
        )

    def settle(self, reporter: str, usage: Usage) -> "BudgetAccount":
        """Return the account after a part has ended; its unused amounts become available."""
        return self._set_granted(reporter, compute_used_amounts(usage))

    def change_limits(self, limits: RunLimits, usages: Mapping[str, Usage]) -> "BudgetAccount":
        """Return the account under new limits; unused grants under the old limits expire."""
        used = {reporter: compute_used_amounts(usage) for reporter, usage in usages.items()}
        return BudgetAccount(limits=limits, granted=used, reported=used)

    def _record_unreported(self, reporter: str, amounts: BudgetAmounts) -> "BudgetAccount":
        """Add amounts that a part had used but not reported when the limits changed.

        Requests may arrive out of order, so later grants are preserved.
        """
        unreported = add_amounts(amounts, self.reported.get(reporter, BudgetAmounts()), -1)
        account = self._set_granted(reporter, add_amounts(self.granted.get(reporter, BudgetAmounts()), unreported))
        return account.model_copy(update={"reported": {**self.reported, reporter: amounts}})

    def _set_granted(self, reporter: str, amounts: BudgetAmounts) -> "BudgetAccount":
        return self.model_copy(update={"granted": {**self.granted, reporter: amounts}})


_RESOURCE_NAMES: Mapping[str, BudgetResource] = {
    "tokens": "tokens",
    "cost_usd": "money",
    "calls": "calls",
    "searches": "searches",
}


def _iterate_limits(limits: RunLimits) -> Iterator[tuple[str, int | float]]:
    """Yield each limited amount, by its field in `BudgetAmounts`, with its limit."""
    for name in BudgetAmounts.model_fields:
        limit = getattr(limits, f"max_{name}")
        if limit is not None:
            yield name, limit


def compute_writing_reserve(limits: RunLimits) -> BudgetAmounts:
    """Return the amounts that are kept for the report and its review."""
    calls = limits.max_calls or 0
    return BudgetAmounts(
        tokens=int((limits.max_tokens or 0) * WRITING_RESERVE_SHARE),
        cost_usd=(limits.max_cost_usd or 0.0) * WRITING_RESERVE_SHARE,
        calls=WRITING_RESERVE_CALLS if calls >= 2 * WRITING_RESERVE_CALLS else 0,
    )


def compute_used_shares(limits: RunLimits, amounts: BudgetAmounts, seconds: float) -> dict[BudgetResource, float]:
    """Return the used share of each limit that is set; above 1 if it is exceeded."""
    shares: dict[BudgetResource, float] = {
        _RESOURCE_NAMES[name]: getattr(amounts, name) / limit for name, limit in _iterate_limits(limits)
    }
    return shares if limits.max_seconds is None else shares | {"time": seconds / limits.max_seconds}


def refuse(request: BudgetRequest, limits: RunLimits) -> BudgetGrant:
    """Return an empty grant, which names the limited resource that was requested."""
    names = [name for name, _ in _iterate_limits(limits) if getattr(request.minimum, name) > 0]
    assert names, "amounts without a limit are not requested"
    exhausted = _RESOURCE_NAMES[names[0]]
    return BudgetGrant(number=request.number, exhausted=exhausted, budget_revision=request.budget_revision)


def list_limits(limits: RunLimits) -> dict[BudgetResource, float]:
    """Return the limits that are set, by resource; that of the time in seconds."""
    ceilings: dict[BudgetResource, float] = {_RESOURCE_NAMES[name]: limit for name, limit in _iterate_limits(limits)}
    return ceilings if limits.max_seconds is None else ceilings | {"time": limits.max_seconds}


_UNITS: Mapping[str, str] = {"tokens": "tokens", "calls": "model calls", "searches": "searches"}


def describe_usage(limits: RunLimits, usage: Usage) -> tuple[str, ...]:
    """Return a phrase on the usage of each limited amount."""
    used = dict(compute_used_amounts(usage))
    return tuple(
        f"{used[name]:.4f} of {limit:g} USD" if name == "cost_usd" else f"{used[name]:,} of {limit:,} {_UNITS[name]}"
        for name, limit in _iterate_limits(limits)
    )


def describe_limit(limits: RunLimits, resource: BudgetResource) -> str:
    """Return the name of a limit for a report."""
    if resource == "time":
        return f"the time of {limits.max_seconds or 0:g} s"
    if resource == "money":
        return f"the budget of {limits.max_cost_usd or 0:g} USD"
    return f"the budget of {getattr(limits, f'max_{resource}') or 0:,} {_UNITS[resource]}"
