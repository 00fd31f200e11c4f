"""Budgets of a run: prices, amounts, and the requests and grants of budget."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract


class Price(Contract):
    """Price of a model in US dollars per million tokens."""

    input: float = Field(ge=0)
    """Price of prompt tokens."""
    output: float = Field(ge=0)
    """Price of completion tokens, hidden reasoning included."""
    cached_input: float | None = Field(default=None, ge=0)
    """Price of prompt tokens in the server's cache; None for the price of other prompt tokens."""


class CallBudget(Contract):
    """Budget of one role call including repeated requests, reserved before the call."""

    calls: int = Field(ge=1)
    tokens_in: int = Field(ge=1)
    """Maximum number of prompt tokens in total."""
    tokens_out: int = Field(ge=1)
    """Maximum number of completion tokens in total."""
    priced: bool = False
    """Whether cost is limited, so that a model without a price must not be called."""


BUDGET_USED_UP = "the budget was used up"
"""Reason for an answer of a fallback instead of a model that the budget does not allow."""
BudgetResource = Literal["tokens", "money", "calls", "searches", "time"]
"""Resource that a budget limits."""


class BudgetAmounts(Contract):
    """Amounts of all budgeted resources."""

    tokens: int = 0
    """Prompt and completion tokens."""
    cost_usd: float = 0.0
    """US dollars."""
    calls: int = 0
    """Model answers."""
    searches: int = 0
    """Searches of the knowledge base."""


class BudgetRequest(Contract):
    """Request of a child workflow for budget."""

    reporter: str
    number: int
    """Number of the request, repeated in the grant."""
    minimum: BudgetAmounts
    """Amounts without which it cannot continue."""
    wanted: BudgetAmounts
    """Amounts that it could use."""
    for_writing: bool = False
    """Whether it is for writing the report, for which a part of the budget is held back."""
    budget_revision: int = 0
    """Number of the budget revision known to the child."""
    used: BudgetAmounts | None = None
    """Total used so far, in the first request after a revision and in requests for an effort; None in others."""
    in_progress: BudgetAmounts | None = None
    """Amounts that the child's calls in progress are expected to use of an effort; None without an effort."""


class BudgetGrant(Contract):
    """Answer of the run to a budget request."""

    number: int
    amounts: BudgetAmounts = BudgetAmounts()
    exhausted: BudgetResource | None = None
    """Resource that is exhausted, so that nothing was granted; None otherwise."""
    budget_revision: int = 0
    """Number of the budget revision of the grant; a request under another one must be repeated."""
