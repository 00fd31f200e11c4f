"""Request scores from a rerank server: a cross-encoder that reads question and passage together.

The protocol was introduced by Cohere and Jina and is implemented by vLLM, llama.cpp and others: POST `rerank` with
`model`, `query`, `documents` and `top_n`; the response lists an `index` and a `relevance_score` for each document.

As with every model, nothing is retried here, and errors become a `ModelError` without a key.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

import httpx
import openai
from pydantic import BaseModel, FiniteFloat, ValidationError

from tenure.models.errors import ModelError, RequestRejected, TransportError
from tenure.models.openai.endpoint import (
    BASE_URL_HINT,
    NO_KEY,
    ModelEndpoint,
    SettingNames,
    format_error_body,
    format_host,
    validate_base_url,
    validate_key,
)
from tenure.settings import Settings

_SETTINGS: Final = SettingNames("TENURE_RERANK_API_KEY", "TENURE_RERANK_BASE_URL")
_MODEL_SETTING: Final = "TENURE_RERANK_MODEL"


class _RerankResult(BaseModel):
    index: int
    relevance_score: FiniteFloat


class _RerankReply(BaseModel):
    results: list[_RerankResult] | None = None


class OpenAIReranker:
    """A rerank model behind an HTTP server."""

    def __init__(self, model: str, base_url: str, *, api_key: str | None = None, timeout: float = 180.0) -> None:
        """Store the configuration; the first search opens the connection.

        Raises:
            ValueError: the URL has no scheme, or the key contains characters that no header can carry.
        """
        self._model, self._timeout = model, timeout
        self._api_key, self._base_url = (
            validate_key(api_key, _SETTINGS.key),
            validate_base_url(base_url, _SETTINGS.base_url),
        )
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> "OpenAIReranker":
        """Build the model from the settings.

        Raises:
            ValueError: the URL of the server is missing, or a URL or key is invalid.
        """
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
        """Return one score per document, in order.

        Raises:
            TransportError: the same call may succeed later.
            RequestRejected: the same call will fail again.
        """
        if not documents:
            return []
        results = sorted(self._fetch_results(query, documents), key=lambda result: result.index)
        if [result.index for result in results] != list(range(len(documents))):
            raise RequestRejected(
                f"{self._model} scored {len(results)} of {len(documents)} passages; check {_MODEL_SETTING}"
            )
        return [result.relevance_score for result in results]

    def _fetch_results(self, query: str, documents: Sequence[str]) -> list[_RerankResult]:
        client = self._connect()
        server = ModelEndpoint(format_host(client), self._api_key, _SETTINGS)
        body = {"model": self._model, "query": query, "documents": list(documents), "top_n": len(documents)}
        try:
            response = client.post("/rerank", cast_to=httpx.Response, body=body)
        except openai.APIStatusError as error:
            raise self._classify_error(server, error.status_code, error.body, error.response.headers) from None
        except openai.APIConnectionError as error:
            raise server.build_connection_error(error, self._timeout) from None
        return self._parse_results(server, response.text)

    def _parse_results(self, server: ModelEndpoint, body: str) -> list[_RerankResult]:
        """Parse the scores of a response with status 200.

        Raises:
            ModelError: the response contains none.
        """
        try:
            reply = _RerankReply.model_validate_json(body)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid" and body.lstrip()[:1] in ("", "{"):
                raise TransportError(f"{server.host} sent a broken response", status=200) from None
            reply = _RerankReply()
        if reply.results is None:
            advice = f"{server.host} does not support Rerank; check {_SETTINGS.base_url} ({BASE_URL_HINT})"
            raise RequestRejected(advice, status=200)
        return reply.results

    def _classify_error(
        self, server: ModelEndpoint, status: int, body: object, headers: Mapping[str, str]
    ) -> ModelError:
        message = format_error_body(body)
        transport_error = server.build_transport_error(status, message, headers)
        return transport_error or server.build_rejection(status, message, self._model, _MODEL_SETTING)

    def _connect(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                self._client = openai.OpenAI(
                    api_key=self._api_key or NO_KEY, base_url=self._base_url, max_retries=0, timeout=self._timeout
                )
            return self._client
