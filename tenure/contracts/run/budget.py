"""What bounds a run's spending: prices, amounts, and what one call may use."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract


class Price(Contract):
    """What a model costs, in US dollars for a million tokens."""

    input: float = Field(ge=0)
    """Prompt tokens."""
    output: float = Field(ge=0)
    """Answer tokens, those of hidden reasoning included."""
    cached_input: float | None = Field(default=None, ge=0)
    """Prompt tokens that the server had in its cache; None for the price of the others."""


class Allowance(Contract):
    """What one call may use at the most, its re-asks included; reserved before it begins."""

    calls: int = Field(ge=1)
    """Answers of the model."""
    tokens_in: int = Field(ge=1)
    """Prompt tokens of all of them."""
    tokens_out: int = Field(ge=1)
    """Answer tokens of all of them."""
    priced: bool = False
    """Whether money is limited, so that a model without a price may not be asked."""


Resource = Literal["tokens", "money", "calls", "searches", "time"]
"""What a budget can run out of."""


class Amounts(Contract):
    """So much of everything that can be drawn from a budget."""

    tokens: int = 0
    """Prompt and answer tokens."""
    cost_usd: float = 0.0
    """Money."""
    calls: int = 0
    """Answers of the model."""
    searches: int = 0
    """Searches in the knowledge base."""


class Draw(Contract):
    """A part of the run asks for what it needs next."""

    reporter: str
    """Workflow id of the part."""
    number: int
    """Which of its draws this is; the answer carries the same."""
    least: Amounts
    """What it cannot do without."""
    wanted: Amounts
    """What it could use."""
    closing: bool = False
    """Whether it is for writing up, for which a part of the budget is held back."""
    allotment: int = 0
    """Number of the bounds that the part knows."""
    used: Amounts | None = None
    """All it has used so far, in its first draw under new bounds; None in the others."""


class Grant(Contract):
    """The run's answer to a draw."""

    number: int
    """Which draw is answered."""
    amounts: Amounts = Amounts()
    """What may be used."""
    spent: Resource | None = None
    """What there is too little of, so that nothing was granted; None where it was."""
    allotment: int = 0
    """Number of the bounds under which it is answered; a draw under other ones is to be made again."""
