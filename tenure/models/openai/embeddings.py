"""Request embeddings from any OpenAI-compatible server.

The client retries nothing: Temporal retries. Server errors become the same exceptions as those of the chat back-end,
without the key that exceptions of the client library may quote.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import openai
from pydantic import BaseModel, ValidationError

from tenure.algorithms.text.passage import Vectors
from tenure.models.errors import ModelError, RequestRejected, TransportError, UnexpectedVectors
from tenure.models.openai.endpoint import (
    BASE_URL_HINT,
    NO_KEY,
    ModelEndpoint,
    format_error_body,
    format_host,
    validate_base_url,
    validate_key,
)
from tenure.models.openai.reply import ErrorDetail
from tenure.settings import Settings

_BATCH_TEXTS = 128
_BATCH_CHARACTERS = 200_000
_CHARACTERS_PER_TOKEN = 4
"""Average of the byte-pair tokenizers over English prose; code and other scripts have more tokens."""


class _EmbeddingItem(BaseModel):
    index: int
    embedding: list[float]


class _EmbeddingReply(BaseModel):
    data: list[_EmbeddingItem] | None = None
    error: ErrorDetail | None = None


class OpenAIEmbeddings:
    """An embedding model behind an OpenAI-compatible endpoint.

    The size of its vectors is read from the first response. Tokens are estimated, because the server's tokenizer is
    unknown.
    """

    max_tokens = 8191

    def __init__(
        self, model: str, *, api_key: str | None = None, base_url: str | None = None, timeout: float = 180.0
    ) -> None:
        """Store the configuration; the first text opens the connection.

        Raises:
            ValueError: the URL has no scheme, or the key contains characters that no header can carry.
        """
        self._model, self._timeout = model, timeout
        self._api_key, self._base_url = validate_key(api_key), validate_base_url(base_url)
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None
        self._dimensions = 0

    @classmethod
    def from_settings(cls, settings: Settings) -> "OpenAIEmbeddings":
        """Build the model from `embedding_model` and the OpenAI settings; a server without keys needs none."""
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
        return cls(
            settings.embedding_model, api_key=key, base_url=settings.openai_base_url, timeout=settings.model_timeout
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the configuration only."""
        return {
            "model": self._model,
            "api_key": self._api_key,
            "base_url": self._base_url,
            "timeout": self._timeout,
            "dimensions": self._dimensions,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the configuration and the vector size, without a connection."""
        dimensions = state.pop("dimensions")
        self.__init__(state.pop("model"), **state)  # type: ignore[misc]
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """Name of the model, prefixed with the protocol."""
        return f"openai:{self._model}"

    @property
    def dimensions(self) -> int:
        """Length of a vector; the first access may send a request."""
        if not self._dimensions:
            self.embed(["dimensions"])
        return self._dimensions

    @staticmethod
    def count_tokens(text: str) -> int:
        """Return an estimate of the text's tokens; static, so that no key is pickled with it."""
        return -(-len(text) // _CHARACTERS_PER_TOKEN)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order.

        Raises:
            UnexpectedVectors: the server returned another number or size of vectors.
            TransportError: the same call may succeed later.
            RequestRejected: the same call will fail again.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        rows = np.concatenate([self._embed_batch(batch) for batch in _batches(texts)])
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _embed_batch(self, batch: list[str]) -> Vectors:
        ordered = sorted(self._fetch_items(batch), key=lambda item: item.index)
        if [item.index for item in ordered] != list(range(len(batch))):
            raise UnexpectedVectors(self._model, (len(batch), self._dimensions), (len(ordered),))
        sizes = {len(item.embedding) for item in ordered}
        with self._lock:
            self._dimensions = self._dimensions or min(sizes)
        if sizes != {self._dimensions}:
            raise UnexpectedVectors(self._model, (len(batch), self._dimensions), (len(batch), *sorted(sizes)))
        return np.array([item.embedding for item in ordered], dtype=np.float32)

    def _fetch_items(self, batch: list[str]) -> list[_EmbeddingItem]:
        client = self._connect()
        server = ModelEndpoint(format_host(client), self._api_key)
        try:
            response = client.embeddings.with_raw_response.create(
                model=self._model, input=batch, encoding_format="float"
            )
        except openai.APIStatusError as error:
            raise self._classify_error(server, error.status_code, error.body, error.response.headers) from None
        except openai.APIConnectionError as error:
            raise server.build_connection_error(error, self._timeout) from None
        return self._parse_items(server, response.text)

    def _parse_items(self, server: ModelEndpoint, body: str) -> list[_EmbeddingItem]:
        """Parse the vectors of a response with status 200.

        Raises:
            ModelError: the response contains none.
        """
        try:
            reply = _EmbeddingReply.model_validate_json(body)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid" and body.lstrip()[:1] in ("", "{"):
                raise TransportError(f"{server.host} sent a broken response", status=200) from None
            reply = _EmbeddingReply()
        if reply.error:
            raise self._classify_error(server, reply.error.status, reply.error.model_dump(), {})
        if reply.data is None:
            advice = f"{server.host} does not support Embeddings; check OPENAI_BASE_URL ({BASE_URL_HINT})"
            raise RequestRejected(advice, status=200)
        return reply.data

    def _classify_error(
        self, server: ModelEndpoint, status: int, body: object, headers: Mapping[str, str]
    ) -> ModelError:
        message = format_error_body(body)
        transport_error = server.build_transport_error(status, message, headers)
        return transport_error or server.build_rejection(status, message, self._model, "TENURE_EMBEDDING_MODEL")

    def _connect(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                self._client = openai.OpenAI(
                    api_key=self._api_key or NO_KEY, base_url=self._base_url, max_retries=0, timeout=self._timeout
                )
            return self._client


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Group the texts, in order, into requests below the usual limits of servers."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or size + len(text) > _BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        # Servers reject an empty string and text beyond the model's window.
        batch.append(text[: OpenAIEmbeddings.max_tokens * 3] or " ")
        size += len(batch[-1])
    yield batch
