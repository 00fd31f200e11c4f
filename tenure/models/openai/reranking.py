"""Request scores from a rerank server: a cross-encoder that reads question and passage together.

The protocol was introduced by Cohere and Jina and is implemented by vLLM, llama.cpp and others: POST `rerank` with
`model`, `query`, `documents` and `top_n`; the response lists an `index` and a `relevance_score` for each document.
"""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, FiniteFloat

from tenure.models.errors import RequestRejected
from tenure.models.openai.endpoint import SettingNames
from tenure.models.openai.endpoint_client import EndpointClient, EndpointConfig, EndpointReply
from tenure.settings.models import RetrievalModelSettings

_SETTINGS: Final = SettingNames("TENURE_RERANK_API_KEY", "TENURE_RERANK_BASE_URL")
_MODEL_SETTING: Final = "TENURE_RERANK_MODEL"


class _RerankResult(BaseModel):
    index: int
    relevance_score: FiniteFloat


class _RerankReply(EndpointReply):
    results: list[_RerankResult] | None = None


class OpenAIReranker:
    """A rerank model behind an HTTP server."""

    def __init__(self, model: str, base_url: str, *, api_key: str | None = None, timeout: float = 180.0) -> None:
        self._model = model
        self._client = EndpointClient(EndpointConfig(model, _MODEL_SETTING, api_key, base_url, timeout, _SETTINGS))

    @classmethod
    def from_settings(cls, settings: RetrievalModelSettings) -> "OpenAIReranker":
        """Build the model from the settings."""
        if not settings.rerank_base_url:
            raise ValueError(f"{_MODEL_SETTING} needs the URL of its server: set {_SETTINGS.base_url}")
        key = settings.rerank_api_key
        return cls(
            settings.rerank_model,
            settings.rerank_base_url,
            api_key=key.get_secret_value() if key else None,
            timeout=settings.model_timeout,
        )

    def score(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one score per document, in order."""
        if not documents:
            return []
        results = sorted(self._fetch_results(query, documents), key=lambda result: result.index)
        if [result.index for result in results] != list(range(len(documents))):
            raise RequestRejected(
                f"{self._model} scored {len(results)} of {len(documents)} passages; check {_MODEL_SETTING}"
            )
        return [result.relevance_score for result in results]

    def _fetch_results(self, query: str, documents: Sequence[str]) -> list[_RerankResult]:
        body = {"query": query, "documents": list(documents), "top_n": len(documents)}
        results = self._client.post("/rerank", body, _RerankReply).results
        if results is None:
            raise self._client.build_unsupported_error("Rerank")
        return results
