"""Define the interface of an embedding model.

A model's `name` is stored with every vector it produces, and vectors of different names are never compared. So the name
must change whenever the vectors would: other weights, other quantisation, other pooling.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tenure.algorithms.text.passage import Vectors


class EmbeddingModel(Protocol):
    """Model that converts texts to unit vectors.

    An implementation may be called from several threads concurrently and can be pickled: only its configuration is
    sent to another process, never loaded weights or open connections.
    """

    @property
    def name(self) -> str:
        """Identity of the vector space."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    @property
    def max_tokens(self) -> int:
        """Longest input that the model reads, in its own tokens; longer input is truncated."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order; shape (0, dimensions) for no text."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of the whole text, without special tokens."""


@runtime_checkable
class PassageEmbedder(Protocol):
    """Additional interface of an embedding model that embeds passages otherwise than questions and sentences."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per passage, in order; shape (0, dimensions) for no passage."""


def embed_passages(model: EmbeddingModel, texts: Sequence[str]) -> Vectors:
    """Return one unit row per passage, in order, as the model embeds passages."""
    return model.embed_passages(texts) if isinstance(model, PassageEmbedder) else model.embed(texts)
