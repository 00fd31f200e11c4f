"""Scores from a rerank server: a cross-encoder that reads question and passage together.

The protocol is the one that Cohere and Jina began and vLLM, llama.cpp and others speak: POST `rerank` with
`model`, `query`, `documents` and `top_n`; the answer lists an `index` and a `relevance_score` for each.

As with every model, nothing is retried here, and what goes wrong arrives as a `ModelError` without a key.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

import httpx
import openai
from pydantic import BaseModel, FiniteFloat, ValidationError

from tenure.models.chat import ModelError, RequestRejected, TransportError
from tenure.models.openai.endpoint import (
    NO_KEY,
    USUAL_PATH,
    Endpoint,
    Names,
    checked_address,
    checked_key,
    error_text,
    host_and_port,
)
from tenure.settings import Settings

_NAMES: Final = Names("TENURE_RERANK_API_KEY", "TENURE_RERANK_BASE_URL")
_MODEL: Final = "TENURE_RERANK_MODEL"


class _Result(BaseModel):
    index: int
    relevance_score: FiniteFloat


class _Reply(BaseModel):
    results: list[_Result] | None = None


class RerankEndpoint:
    """A rerank model behind an HTTP server."""

    def __init__(self, model: str, base_url: str, *, api_key: str | None = None, timeout: float = 180.0) -> None:
        """Keep the address; no connection is opened before the first search.

        Raises:
            ValueError: for an address without a scheme, or a key that no header can carry.
        """
        self._model, self._timeout = model, timeout
        self._api_key, self._base_url = checked_key(api_key, _NAMES.key), checked_address(base_url, _NAMES.address)
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> "RerankEndpoint":
        """Make the model that the settings name.

        Raises:
            ValueError: there is no address of its server, or an address or key cannot be used.
        """
        if not settings.rerank_base_url:
            raise ValueError(f"{_MODEL} needs the address of its server: set {_NAMES.address}")
        key = settings.rerank_api_key
        return cls(
            settings.rerank_model,
            settings.rerank_base_url,
            api_key=key.get_secret_value() if key else None,
            timeout=settings.model_timeout,
        )

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one score per document, in order.

        Raises:
            TransportError: the same call may succeed later.
            RequestRejected: it will not; a person has to change something.
        """
        if not documents:
            return []
        results = sorted(self._asked(query, documents), key=lambda result: result.index)
        if [result.index for result in results] != list(range(len(documents))):
            raise RequestRejected(f"{self._model} scored {len(results)} of {len(documents)} passages; check {_MODEL}")
        return [result.relevance_score for result in results]

    def _asked(self, query: str, documents: Sequence[str]) -> list[_Result]:
        client = self._connected()
        server = Endpoint(host_and_port(client), self._api_key, _NAMES)
        body = {"model": self._model, "query": query, "documents": list(documents), "top_n": len(documents)}
        try:
            response = client.post("/rerank", cast_to=httpx.Response, body=body)
        except openai.APIStatusError as error:
            raise self._refusal(server, error.status_code, error.body, error.response.headers) from None
        except openai.APIConnectionError as error:
            raise server.unreached(error, self._timeout) from None
        return self._results(server, response.text)

    def _results(self, server: Endpoint, body: str) -> list[_Result]:
        """Take the scores out of a response that came with status 200.

        Raises:
            ModelError: where there are none.
        """
        try:
            reply = _Reply.model_validate_json(body)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid" and body.lstrip()[:1] in ("", "{"):
                raise TransportError(f"{server.where} sent a broken response", status=200) from None
            reply = _Reply()
        if reply.results is None:
            advice = f"{server.where} does not speak Rerank; check {_NAMES.address} ({USUAL_PATH})"
            raise RequestRejected(advice, status=200)
        return reply.results

    def _refusal(self, server: Endpoint, status: int, body: object, headers: Mapping[str, str]) -> ModelError:
        said = error_text(body)
        busy = server.busy(status, said, headers)
        return busy or server.rejected(status, said, self._model, _MODEL)

    def _connected(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                self._client = openai.OpenAI(
                    api_key=self._api_key or NO_KEY, base_url=self._base_url, max_retries=0, timeout=self._timeout
                )
            return self._client
