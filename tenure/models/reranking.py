"""What a rerank model is, and which one the settings ask for."""

from collections.abc import Sequence
from typing import Protocol

from tenure.settings import Settings


class RerankModel(Protocol):
    """Says how well passages answer a question; may be called from several threads at once."""

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one score per document, in order; higher is better, on a scale of the model's own."""
        ...


def rerank_model(settings: Settings) -> RerankModel | None:
    """Return the rerank model that the settings ask for; None where they ask for none.

    Raises:
        ValueError: there is a model, but no address of its server; or an address or key cannot be used.
    """
    if not settings.rerank_model:
        return None
    # The client library takes more than a second of processor time to load: only for those who need it.
    from tenure.models.openai.reranking import RerankEndpoint

    return RerankEndpoint.from_settings(settings)
