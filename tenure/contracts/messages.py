"""Define the chat messages and model tiers that roles and models share."""

from typing import Literal

from tenure.contracts.base import Contract

Tier = Literal["main", "fast"]
"""Model tier: `main` for decisions that need the strongest model, `fast` for all others."""


class Message(Contract):
    """One message of a chat prompt."""

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[str, ...] = ()
    """Pictures that belong to it, as data addresses."""
