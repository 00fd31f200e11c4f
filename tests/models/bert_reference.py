"""A float32 forward pass of BERT in NumPy from the published weights, as a reference for the fast one."""

from math import erf

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from tenure.models.minilm.weights import find_model

Array = NDArray[np.float32]
_HEADS = 12


class Reference:
    """Model that embeds one text at a time without optimisation."""

    def __init__(self) -> None:
        """Load the weights."""
        self._w: dict[str, Array] = load_file(find_model() / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(find_model() / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(256)

    def embed(self, text: str) -> Array:
        """Return the unit vector of a text."""
        ids = self._tokenizer.encode(text).ids
        states = self._w["embeddings.word_embeddings.weight"][ids]
        states = states + self._w["embeddings.position_embeddings.weight"][: len(ids)]
        states = self._norm(states + self._w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for number in range(6):
            states = self._layer(states, f"encoder.layer.{number}.")
        mean = states.mean(axis=0)
        unit: Array = mean / np.linalg.norm(mean)
        return unit

    def _layer(self, states: Array, at: str) -> Array:
        query, key, value = (
            self._heads(self._linear(states, f"{at}attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ value).transpose(1, 0, 2).reshape(states.shape)
        states = self._norm(
            states + self._linear(mixed, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm"
        )
        inner = self._linear(states, f"{at}intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / np.sqrt(2)))
        return self._norm(states + self._linear(inner, f"{at}output.dense"), f"{at}output.LayerNorm")

    def _heads(self, states: Array) -> Array:
        return states.reshape(len(states), _HEADS, -1).transpose(1, 0, 2)

    def _linear(self, states: Array, name: str) -> Array:
        out: Array = states @ self._w[f"{name}.weight"].T + self._w[f"{name}.bias"]
        return out

    def _norm(self, states: Array, name: str) -> Array:
        centred = states - states.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(states.var(axis=-1, keepdims=True) + 1e-12)
        out: Array = scaled * self._w[f"{name}.weight"] + self._w[f"{name}.bias"]
        return out
