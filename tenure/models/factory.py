"""Which chat back-end the settings ask for."""

from typing import TYPE_CHECKING

from tenure.settings import Settings

if TYPE_CHECKING:
    from tenure.models.openai.backend import OpenAIBackend


def chat_model(settings: Settings) -> "OpenAIBackend | None":
    """Return the configured chat model, None where the twins answer.

    Raises:
        ValueError: for an address, a key or a file of prices that cannot be used.
    """
    if not settings.uses_model:
        return None
    # The client library takes more than a second of processor time to load: only for those who have a model.
    if settings.model_api == "responses":
        from tenure.models.openai.responses import OpenAIResponses

        return OpenAIResponses.from_settings(settings)
    from tenure.models.openai.chat import OpenAIChat

    return OpenAIChat.from_settings(settings)
