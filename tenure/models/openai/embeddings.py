"""Request embeddings from any OpenAI-compatible server."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel

from tenure.algorithms.text.passage import Vectors
from tenure.models.errors import UnexpectedVectors
from tenure.models.openai.endpoint_client import EndpointClient, EndpointConfig, EndpointReply
from tenure.settings.models import RetrievalModelSettings

_BATCH_TEXTS = 128  # OpenAI accepts 2,048.
_BATCH_CHARACTERS = 200_000  # About 50,000 tokens; OpenAI accepts 300,000 in a request.
_CHARACTERS_PER_TOKEN = 4
"""Average of the byte-pair tokenizers over English prose; code and other scripts have more tokens."""


class EmbeddingPrefixes(NamedTuple):
    """Texts that a model expects before what it embeds."""

    query: str = ""
    """Before questions and sentences."""
    passage: str = ""
    """Before passages."""


_NO_PREFIXES = EmbeddingPrefixes()
_FAMILIES = (
    # "multilingual-e5-large": https://huggingface.co/intfloat/multilingual-e5-large. The instruct models take a task
    # before questions, which sentences do not have, and nothing before passages.
    (re.compile(r"\be5-(?!.*instruct)", re.IGNORECASE), EmbeddingPrefixes("query: ", "passage: ")),
    # "nomic-embed-text-v1.5", "nomic-embed-text-v2-moe": https://huggingface.co/nomic-ai/nomic-embed-text-v1.5
    (re.compile(r"\bnomic-embed-text", re.IGNORECASE), EmbeddingPrefixes("search_query: ", "search_document: ")),
)
"""Prefixes of the families of models that were trained with them."""


def find_prefixes(settings: RetrievalModelSettings) -> EmbeddingPrefixes:
    """Return the prefixes of the settings, or else those of the family of the model."""
    usual = next((prefixes for name, prefixes in _FAMILIES if name.search(settings.embedding_model)), _NO_PREFIXES)
    return EmbeddingPrefixes(
        settings.embedding_query_prefix or usual.query, settings.embedding_passage_prefix or usual.passage
    )


class _EmbeddingItem(BaseModel):
    index: int
    embedding: list[float]


class _EmbeddingReply(EndpointReply):
    data: list[_EmbeddingItem] | None = None


class OpenAIEmbeddings:
    """An embedding model behind an OpenAI-compatible endpoint.

    The size of its vectors is read from the first response. Tokens are estimated, because the server's tokenizer is
    unknown.
    """

    max_tokens = 8191

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 180.0,
        prefixes: EmbeddingPrefixes = _NO_PREFIXES,
    ) -> None:
        self._model = model
        self._prefixes = prefixes
        self._client = EndpointClient(EndpointConfig(model, "TENURE_EMBEDDING_MODEL", api_key, base_url, timeout))
        self._dimensions = 0

    @classmethod
    def from_settings(cls, settings: RetrievalModelSettings) -> "OpenAIEmbeddings":
        """Build the model from `embedding_model` and the OpenAI settings; a server without keys needs none."""
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
        return cls(
            settings.embedding_model,
            api_key=key,
            base_url=settings.openai_base_url,
            timeout=settings.model_timeout,
            prefixes=find_prefixes(settings),
        )

    @property
    def name(self) -> str:
        """Name of the model with the protocol and with the prefixes of the texts, which change the vectors."""
        return ":".join(("openai", self._model, *(self._prefixes if any(self._prefixes) else ())))

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
        """Return one unit row per question or sentence, in order."""
        return self._embed([self._prefixes.query + text for text in texts])

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per passage, in order."""
        return self._embed([self._prefixes.passage + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> Vectors:
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
        self._dimensions = self._dimensions or min(sizes)
        if sizes != {self._dimensions}:
            raise UnexpectedVectors(self._model, (len(batch), self._dimensions), (len(batch), *sorted(sizes)))
        return np.array([item.embedding for item in ordered], dtype=np.float32)

    def _fetch_items(self, batch: list[str]) -> list[_EmbeddingItem]:
        body = {"input": batch, "encoding_format": "float"}
        items = self._client.post("/embeddings", body, _EmbeddingReply).data
        if items is None:
            raise self._client.build_unsupported_error("Embeddings")
        return items


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
