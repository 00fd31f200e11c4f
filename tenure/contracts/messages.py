"""Define the chat messages, callable functions and model tiers that roles and models share."""

from typing import Any, Literal, NamedTuple

from tenure.contracts.base import Contract

Tier = Literal["main", "fast"]
"""Model tier: `main` for decisions that need the strongest model, `fast` for all others."""


class Message(Contract):
    """One message of a chat prompt."""

    role: Literal["system", "user", "assistant"]
    """Author of the message."""
    content: str
    """Text of the message."""


class FunctionDefinition(NamedTuple):
    """An action that a server can offer a model to call."""

    name: str
    """Its name."""
    description: str
    """Description of its effect."""
    parameters: dict[str, Any]
    """JSON schema of its arguments."""
