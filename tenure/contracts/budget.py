"""What bounds a run's spending: prices, and what one call may use."""

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
