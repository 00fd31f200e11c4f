"""Embeddings and rerank scores that depend on a text's words alone: texts with words in common are close."""

import base64
import re
import zlib
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tests.model_server.request import tokens
from tests.schema_instance import Json


def texts_of(request: Json) -> list[str]:
    """Return the texts to embed."""
    given = request["input"]
    return [given] if isinstance(given, str) else [str(text) for text in given]


def text_tokens(request: Json) -> int:
    """Count the tokens of the texts to embed."""
    return sum(map(tokens, texts_of(request)))


def embedded(request: Json, size: int) -> list[Json]:
    """Return the vectors of a request as the protocol writes them; `size` is their length where it says none."""
    vectors = [embedding(text, request.get("dimensions") or size) for text in texts_of(request)]
    packed = request.get("encoding_format") == "base64"
    return [
        {"object": "embedding", "index": at, "embedding": _packed(vector) if packed else vector.tolist()}
        for at, vector in enumerate(vectors)
    ]


def reranked(request: Json) -> list[Json]:
    """Return what a rerank model says: the share of the query's words that a document has, best first."""
    wanted = set(_words(request["query"]))
    scores = [len(wanted & set(_words(text))) / max(1, len(wanted)) for text in request["documents"]]
    best = sorted(range(len(scores)), key=lambda at: -scores[at])[: request.get("top_n")]
    return [{"index": at, "relevance_score": scores[at]} for at in best]


def embedding(text: str, size: int) -> NDArray[np.float32]:
    """Return a unit vector of a text: the sum of a fixed random direction for each of its words."""
    words = _words(text) or [""]
    total = sum(np.random.default_rng(zlib.crc32(word.encode())).standard_normal(size) for word in words)
    return cast(NDArray[np.float32], (total / np.linalg.norm(total)).astype("<f4"))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _packed(vector: NDArray[np.float32]) -> str:
    return base64.b64encode(vector.tobytes()).decode()
