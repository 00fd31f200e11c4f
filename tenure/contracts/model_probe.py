"""What a tiny call to a configured model has shown; `doctor` prints it."""

from typing import Literal

from tenure.contracts.base import Contract


class ModelTrial(Contract):
    """What was found out about one model."""

    model: str
    """The model."""
    setting: str
    """The variable that names it."""
    problem: str = ""
    """One line that says what is wrong and what to fix; empty where nothing is."""
    answered: bool = False
    """Whether it answered at all, be it with something unusable."""
    seconds: float | None = None
    """How long the call took."""


class ChatTrial(ModelTrial):
    """What was found out about a chat model."""

    structured_output: Literal["json_schema", "json_object", "text"] | None = None
    """How far the server holds the model to a schema: strictly, to JSON, or by the prompt alone."""
    streams: bool = False
    """Whether the answer came in pieces."""
    first_token_seconds: float | None = None
    """Time to the first piece."""
    context_tokens: int | None = None
    """Size of its context; None where the server does not tell."""


class EmbeddingTrial(ModelTrial):
    """What was found out about an embedding model."""

    dimensions: int | None = None
    """Length of its vectors."""
