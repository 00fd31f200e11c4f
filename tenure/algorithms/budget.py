"""Budgets: what calls are expected to use, and what they cost; pure, so that a run's accounts survive every crash."""

from tenure.contracts.budget import Price

BYTES_PER_TOKEN = 3
"""Fewer than languages and tokenisers have on average, so that an estimate errs on the safe side."""

PER_MILLION = 1_000_000


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
