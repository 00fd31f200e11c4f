"""Create the models that the settings describe: for chats, embeddings, reranking and transcription.

Nothing is loaded or contacted before the first use of a model. The client library takes more than a second of processor
time to import, so it is imported only if a model needs it.
"""

from typing import TYPE_CHECKING

from tenure.models.embedding import EmbeddingModel
from tenure.models.reranking import RerankModel
from tenure.models.transcription import TranscriptionModel
from tenure.settings.models import MULTILINGUAL_MODEL, ChatModelSettings, RetrievalModelSettings, TranscriptionSettings

if TYPE_CHECKING:
    from tenure.models.openai.backend import OpenAIBackend


def create_chat_model(settings: ChatModelSettings) -> "OpenAIBackend | None":
    """Return the configured chat model, or None if the fallbacks answer.

    Raises:
        ValueError: a URL, a key or a price file is invalid.
    """
    if not settings.has_model:
        return None
    if settings.model_api == "responses":
        from tenure.models.openai.responses import OpenAIResponses

        return OpenAIResponses.from_settings(settings)
    from tenure.models.openai.chat import OpenAIChat

    return OpenAIChat.from_settings(settings)


def create_embedding_model(settings: RetrievalModelSettings) -> EmbeddingModel:
    """Return the configured embedding model, or the embedded one if none is configured."""
    if settings.embedding_model == MULTILINGUAL_MODEL:
        from tenure.models.multilingual import MultilingualEncoder

        return MultilingualEncoder(settings.embedding_threads)
    if settings.embedding_model:
        from tenure.models.openai.embeddings import OpenAIEmbeddings

        return OpenAIEmbeddings.from_settings(settings)
    from tenure.models.minilm.model import MiniLM

    return MiniLM(settings.home.absolute() / "models", threads=settings.embedding_threads)


def create_rerank_model(settings: RetrievalModelSettings) -> RerankModel | None:
    """Return the configured rerank model, or None if none is configured."""
    if not settings.rerank_model:
        return None
    from tenure.models.openai.reranking import OpenAIReranker

    return OpenAIReranker.from_settings(settings)


def create_transcription_model(settings: TranscriptionSettings) -> TranscriptionModel | None:
    """Return the configured transcription model, or None if none is configured."""
    if not settings.transcription_model:
        return None
    from tenure.models.openai.transcription import OpenAITranscription

    return OpenAITranscription.from_settings(settings)
