"""Define the interface of a rerank model."""

from collections.abc import Sequence
from typing import Protocol


class RerankModel(Protocol):
    """Model that scores how well passages answer a question; may be called from several threads concurrently."""

    def score(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one score per document, in order; higher is better, on a scale of the model's own."""
