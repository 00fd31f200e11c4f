"""Embeddings and rerank scores that depend only on a text's words: texts with common words are similar."""

import base64
import re
import zlib
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tests.model_server.request import count_tokens
from tests.support.schema_instance import Json


def read_texts(request: Json) -> list[str]:
    """Return the texts to embed."""
    given = request["input"]
    return [given] if isinstance(given, str) else [str(text) for text in given]


def count_text_tokens(request: Json) -> int:
    """Count the tokens of the texts to embed."""
    return sum(map(count_tokens, read_texts(request)))


def build_embeddings(request: Json, size: int) -> list[Json]:
    """Return the vectors of a request in the protocol's form; `size` is the default length."""
    vectors = [embed_text(text, request.get("dimensions") or size) for text in read_texts(request)]
    packed = request.get("encoding_format") == "base64"
    return [
        {"object": "embedding", "index": at, "embedding": _encode_base64(vector) if packed else vector.tolist()}
        for at, vector in enumerate(vectors)
    ]


def build_rerank_results(request: Json) -> list[Json]:
    """Return rerank results: the share of the query's words in a document, best first."""
    wanted = set(_words(request["query"]))
    scores = [len(wanted & set(_words(text))) / max(1, len(wanted)) for text in request["documents"]]
    best = sorted(range(len(scores)), key=lambda at: -scores[at])[: request.get("top_n")]
    return [{"index": at, "relevance_score": scores[at]} for at in best]


def embed_text(text: str, size: int) -> NDArray[np.float32]:
    """Return a unit vector of a text: the sum of a fixed random direction for each of its words."""
    words = _words(text) or [""]
    total = sum(np.random.default_rng(zlib.crc32(word.encode())).standard_normal(size) for word in words)
    return cast(NDArray[np.float32], (total / np.linalg.norm(total)).astype("<f4"))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _encode_base64(vector: NDArray[np.float32]) -> str:
    return base64.b64encode(vector.tobytes()).decode()
