"""Run the embedded embedding model: all-MiniLM-L6-v2 on CTranslate2, int8, without torch and without a network.

Vectors are the mean over the tokens, of unit length. Input beyond 256 tokens is truncated, as the model's authors do.
The model is loaded once, on first use.
"""

import os
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tenure.algorithms.text.passage import Vectors
from tenure.models.minilm.weights import ensure_converted_model, find_model

if TYPE_CHECKING:
    from ctranslate2 import Encoder
    from tokenizers import Encoding, Tokenizer

_BATCH_TOKENS = 1024
"""Tokens of one forward pass, including padding; measured: larger batches exceed the CPU cache."""
# No token contains one of these blanks; the tokenizer drops others, such as form feeds, and joins the words around.
_WORD = re.compile(r"[^ \t\n\r]+")
_MAX_COUNTED_CHARACTERS = 64
"""Maximum characters of a word whose count is kept; an encoded image is a word of megabytes."""


@dataclass(frozen=True)
class _Loaded:
    tokenizer: "Tokenizer"
    encoder: "Encoder"
    lanes: ThreadPoolExecutor


class MiniLM:
    """all-MiniLM-L6-v2; a text longer than 256 tokens is represented by its first 256.

    It can be pickled: the copy loads the model again on its own first use.
    """

    name = "all-MiniLM-L6-v2/int8"
    dimensions = 384
    max_tokens = 254
    """256 minus the two special tokens around every text."""

    def __init__(self, cache: Path, threads: int = 0) -> None:
        """Store the converted model below `cache`; `threads` 0 means one per core."""
        self._cache = cache
        self._threads = threads or _cores()
        self._lock = threading.Lock()
        self._tokenizer: Tokenizer | None = None
        self._loaded: _Loaded | None = None
        self._count_word = lru_cache(maxsize=50_000)(self._count)

    def __getstate__(self) -> dict[str, Any]:
        """Return the configuration only."""
        return {"cache": self._cache, "threads": self._threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore an unloaded model."""
        self.__init__(**state)  # type: ignore[misc]

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of the whole text; loads the tokenizer only, not the weights."""
        words = _WORD.findall(text)
        if max(map(len, words), default=0) > _MAX_COUNTED_CHARACTERS:
            return self._count(text)
        return sum(map(self._count_word, words))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order; equal texts get equal rows."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, states in self._states(self._encode(texts)):
            vectors[row] = _unit(states.mean(axis=0))
        return vectors

    def _encode(self, texts: Sequence[str]) -> "list[Encoding]":
        return self._model().tokenizer.encode_batch(list(texts)) if texts else []

    def _states(self, encodings: "Sequence[Encoding]") -> Iterator[tuple[int, Vectors]]:
        """Yield the index of each text and the last hidden states of its tokens."""
        if not encodings:
            return
        model = self._model()
        ids = [self._cut(encoding.ids) for encoding in encodings]
        batches = list(_batches(ids))
        # A single batch, such as a query, does not wait behind the many batches of an ingestion.
        run = map if len(batches) == 1 else model.lanes.map
        results = run(lambda rows: model.encoder.forward_batch([ids[row] for row in rows]), batches)
        for rows, output in zip(batches, results, strict=True):
            states = np.asarray(output.last_hidden_state, dtype=np.float32)
            yield from ((row, text[: len(ids[row])]) for row, text in zip(rows, states, strict=True))

    def _count(self, text: str) -> int:
        return len(self._tokens().encode(text, add_special_tokens=False).ids)

    def _cut(self, ids: list[int]) -> list[int]:
        return ids if len(ids) <= self.max_tokens + 2 else [*ids[: self.max_tokens + 1], ids[-1]]

    def _tokens(self) -> "Tokenizer":
        with self._lock:
            return self._tokens_unlocked()

    def _tokens_unlocked(self) -> "Tokenizer":
        if self._tokenizer is None:
            # Parallelism of the tokenizer competes with the forward passes and warns after a fork.
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(os.fspath(find_model() / "tokenizer.json"))
            # The published file truncates at 128 and pads; here texts are counted whole and truncated at 256.
            tokenizer.no_truncation()
            tokenizer.no_padding()
            self._tokenizer = tokenizer
        return self._tokenizer

    def _model(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                from ctranslate2 import Encoder

                folder = os.fspath(ensure_converted_model(self._cache))
                encoder = Encoder(folder, compute_type="int8", inter_threads=self._threads, intra_threads=1)
                lanes = ThreadPoolExecutor(self._threads, thread_name_prefix="minilm")
                self._loaded = _Loaded(self._tokens_unlocked(), encoder, lanes)
            return self._loaded


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return unit


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _batches(ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Group the rows into batches of similar length, longest first, to minimise padding."""
    batch: list[int] = []
    for row in sorted(range(len(ids)), key=lambda row: (-len(ids[row]), row)):
        if batch and (len(batch) + 1) * len(ids[batch[0]]) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(row)
    yield batch
