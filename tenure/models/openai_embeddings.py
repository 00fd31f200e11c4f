"""Embeddings from any OpenAI-compatible server.

The client retries nothing: retries belong to Temporal alone. What the server refuses arrives at the
caller as the `openai` package's own exception, so that one place translates it.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from openai import OpenAI

from tenure.algorithms.passages import Vectors
from tenure.models.embedding import UnexpectedVectors
from tenure.settings import Settings

_BATCH_TEXTS = 128
_BATCH_CHARACTERS = 200_000
_CHARACTERS_PER_TOKEN = 4
"""Average of the byte-pair tokenizers over English prose; code and other scripts take more tokens."""


class OpenAIEmbeddings:
    """An embedding model behind an OpenAI-compatible endpoint.

    The size of its vectors is learnt from the server on first need. Tokens are estimated, since the server's
    tokenizer is unknown.
    """

    max_tokens = 8191

    def __init__(self, model: str, *, api_key: str, base_url: str | None = None, timeout: float = 180.0) -> None:
        """Keep the address; no connection is opened before the first text."""
        self._model, self._api_key, self._base_url, self._timeout = model, api_key, base_url, timeout
        self._lock = threading.Lock()
        self._client: OpenAI | None = None
        self._dimensions = 0

    @classmethod
    def from_settings(cls, settings: Settings) -> "OpenAIEmbeddings":
        """Build the model from `embedding_model` and the OpenAI settings; a server without keys needs none."""
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none"
        return cls(
            settings.embedding_model, api_key=key, base_url=settings.openai_base_url, timeout=settings.model_timeout
        )

    def __getstate__(self) -> dict[str, Any]:
        """Give away the configuration only."""
        return {
            "model": self._model,
            "api_key": self._api_key,
            "base_url": self._base_url,
            "timeout": self._timeout,
            "dimensions": self._dimensions,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start without a connection, but with what was learnt."""
        dimensions = state.pop("dimensions")
        self.__init__(state.pop("model"), **state)  # type: ignore[misc]
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """The server's name of the model."""
        return f"openai:{self._model}"

    @property
    def dimensions(self) -> int:
        """Length of a vector; asks the server the first time."""
        if not self._dimensions:
            self.embed(["dimensions"])
        return self._dimensions

    def count_tokens(self, text: str) -> int:
        """Return an estimate of the text's tokens."""
        return -(-len(text) // _CHARACTERS_PER_TOKEN)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order.

        Raises:
            UnexpectedVectors: the server answered with another number or size of vectors.
            openai.OpenAIError: the server could not be reached or refused.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        rows = np.concatenate([self._request(batch) for batch in _batches(texts)])
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _request(self, batch: list[str]) -> Vectors:
        answer = self._connected().embeddings.create(model=self._model, input=batch, encoding_format="float")
        ordered = sorted(answer.data, key=lambda item: item.index)
        if [item.index for item in ordered] != list(range(len(batch))):
            raise UnexpectedVectors(self._model, (len(batch), self._dimensions), (len(ordered),))
        sizes = {len(item.embedding) for item in ordered}
        with self._lock:
            self._dimensions = self._dimensions or min(sizes)
        if sizes != {self._dimensions}:
            raise UnexpectedVectors(self._model, (len(batch), self._dimensions), (len(batch), *sorted(sizes)))
        return np.array([item.embedding for item in ordered], dtype=np.float32)

    def _connected(self) -> OpenAI:
        with self._lock:
            if self._client is None:
                self._client = OpenAI(
                    api_key=self._api_key, base_url=self._base_url, max_retries=0, timeout=self._timeout
                )
            return self._client


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Deal the texts, in order, into requests that stay below the usual limits of servers."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or size + len(text) > _BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        # Servers refuse an empty string; what is beyond the model's window they would refuse as well.
        batch.append(text[: OpenAIEmbeddings.max_tokens * 3] or " ")
        size += len(batch[-1])
    yield batch
