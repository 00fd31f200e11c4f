"""Which chat back-end the settings ask for."""

from tenure.models.openai_backend import OpenAIBackend
from tenure.models.openai_chat import OpenAIChat
from tenure.models.openai_responses import OpenAIResponses
from tenure.settings import Settings


def chat_model(settings: Settings) -> OpenAIBackend | None:
    """Return the configured chat model, None where the twins answer.

    Raises:
        ValueError: for an address, a key or a file of prices that cannot be used.
    """
    if not settings.uses_model:
        return None
    return (OpenAIResponses if settings.model_api == "responses" else OpenAIChat).from_settings(settings)
