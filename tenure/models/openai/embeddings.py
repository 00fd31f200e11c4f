"""Embeddings from any OpenAI-compatible server.

The client retries nothing: retries belong to Temporal alone. What goes wrong at the server arrives as the
same errors as the chat back-end's, without the key that the client library's own may quote.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import openai
from pydantic import BaseModel, ValidationError

from tenure.algorithms.text.passage import Vectors
from tenure.models.chat import ModelError, RequestRejected, TransportError
from tenure.models.embedding import UnexpectedVectors
from tenure.models.openai.endpoint import (
    NO_KEY,
    USUAL_PATH,
    Endpoint,
    checked_address,
    checked_key,
    error_text,
    host_and_port,
)
from tenure.models.openai.reply import Failure
from tenure.settings import Settings

_BATCH_TEXTS = 128
_BATCH_CHARACTERS = 200_000
_CHARACTERS_PER_TOKEN = 4
"""Average of the byte-pair tokenizers over English prose; code and other scripts take more tokens."""


class _Item(BaseModel):
    index: int
    embedding: list[float]


class _Reply(BaseModel):
    data: list[_Item] | None = None
    error: Failure | None = None


class OpenAIEmbeddings:
    """An embedding model behind an OpenAI-compatible endpoint.

    The size of its vectors is learnt from the server on first need. Tokens are estimated, since the server's
    tokenizer is unknown.
    """

    max_tokens = 8191

    def __init__(
        self, model: str, *, api_key: str | None = None, base_url: str | None = None, timeout: float = 180.0
    ) -> None:
        """Keep the address; no connection is opened before the first text.

        Raises:
            ValueError: for an address without a scheme, or a key that no header can carry.
        """
        self._model, self._timeout = model, timeout
        self._api_key, self._base_url = checked_key(api_key), checked_address(base_url)
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

    @staticmethod
    def count_tokens(text: str) -> int:
        """Return an estimate of the text's tokens; bound to no model, since it travels to where no key may be."""
        return -(-len(text) // _CHARACTERS_PER_TOKEN)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order.

        Raises:
            UnexpectedVectors: the server answered with another number or size of vectors.
            TransportError: the same call may succeed later.
            RequestRejected: it will not; a person has to change something.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        rows = np.concatenate([self._request(batch) for batch in _batches(texts)])
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _request(self, batch: list[str]) -> Vectors:
        ordered = sorted(self._asked(batch), key=lambda item: item.index)
        if [item.index for item in ordered] != list(range(len(batch))):
            raise UnexpectedVectors(self._model, (len(batch), self._dimensions), (len(ordered),))
        sizes = {len(item.embedding) for item in ordered}
        with self._lock:
            self._dimensions = self._dimensions or min(sizes)
        if sizes != {self._dimensions}:
            raise UnexpectedVectors(self._model, (len(batch), self._dimensions), (len(batch), *sorted(sizes)))
        return np.array([item.embedding for item in ordered], dtype=np.float32)

    def _asked(self, batch: list[str]) -> list[_Item]:
        client = self._connected()
        server = Endpoint(host_and_port(client), self._api_key)
        try:
            response = client.embeddings.with_raw_response.create(
                model=self._model, input=batch, encoding_format="float"
            )
        except openai.APIStatusError as error:
            raise self._refusal(server, error.status_code, error.body, error.response.headers) from None
        except openai.APIConnectionError as error:
            raise server.unreached(error, self._timeout) from None
        return self._items(server, response.text)

    def _items(self, server: Endpoint, body: str) -> list[_Item]:
        """Take the vectors out of a response that came with status 200.

        Raises:
            ModelError: where there are none.
        """
        try:
            reply = _Reply.model_validate_json(body)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid" and body.lstrip()[:1] in ("", "{"):
                raise TransportError(f"{server.where} sent a broken response", status=200) from None
            reply = _Reply()
        if reply.error:
            raise self._refusal(server, reply.error.status, reply.error.model_dump(), {})
        if reply.data is None:
            advice = f"{server.where} does not speak Embeddings; check OPENAI_BASE_URL ({USUAL_PATH})"
            raise RequestRejected(advice, status=200)
        return reply.data

    def _refusal(self, server: Endpoint, status: int, body: object, headers: Mapping[str, str]) -> ModelError:
        said = error_text(body)
        busy = server.busy(status, said, headers)
        return busy or server.rejected(status, said, self._model, "TENURE_EMBEDDING_MODEL")

    def _connected(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                self._client = openai.OpenAI(
                    api_key=self._api_key or NO_KEY, base_url=self._base_url, max_retries=0, timeout=self._timeout
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
