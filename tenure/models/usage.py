"""Define the token usage of an answer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenUsage:
    """Tokens of one answer, as the server reported them."""

    tokens_in: int = 0
    tokens_out: int = 0
    """Tokens of the answer, including hidden reasoning."""
    tokens_cached: int = 0
    """Tokens of the prompt that the server read from its cache."""
