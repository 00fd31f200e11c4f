"""Convert the published all-MiniLM-L6-v2 weights to an int8 CTranslate2 model.

The build of a wheel loads this file alone (`deploy/build_hook.py`), so it imports nothing of Tenure.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONVERTED = "all-MiniLM-L6-v2-ct2-int8-1"
"""Folder name of the converted model; its last number changes with the conversion below."""

Tensors = dict[str, NDArray[np.float32]]


def convert_model(source: Path, target: Path) -> None:
    """Convert the published files of a folder into a new folder."""
    # Expensive imports that are needed once per home.
    from ctranslate2.specs import common_spec, transformer_spec
    from safetensors.numpy import load_file

    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    tensors: Tensors = load_file(source / "model.safetensors")
    encoder = transformer_spec.TransformerEncoderSpec(
        config["num_hidden_layers"],
        config["num_attention_heads"],
        pre_norm=False,
        activation=common_spec.Activation.GELU,
        num_source_embeddings=2,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
        layernorm_embedding=True,
    )
    encoder.scale_embeddings = False
    _fill_embeddings(encoder, tensors)
    for number, layer in enumerate(encoder.layer):
        _fill_layer(layer, tensors, f"encoder.layer.{number}.")
    spec = transformer_spec.TransformerEncoderModelSpec(encoder)
    spec.register_vocabulary((source / "vocab.txt").read_text(encoding="utf-8").splitlines())
    spec.config.unk_token = "[UNK]"
    spec.config.layer_norm_epsilon = config["layer_norm_eps"]
    spec.validate()
    spec.optimize(quantization="int8")
    target.mkdir()
    spec.save(os.fspath(target))


def _fill_embeddings(encoder: Any, tensors: Tensors) -> None:
    encoder.embeddings[0].weight = tensors["embeddings.word_embeddings.weight"]
    encoder.embeddings[1].weight = tensors["embeddings.token_type_embeddings.weight"]
    encoder.position_encodings.encodings = tensors["embeddings.position_embeddings.weight"]
    _fill_norm(encoder.layernorm_embedding, tensors, "embeddings.LayerNorm")


def _fill_layer(layer: Any, tensors: Tensors, prefix: str) -> None:
    attention = layer.self_attention
    fused = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
    attention.linear[0].weight = np.concatenate([tensors[f"{name}.weight"] for name in fused])
    attention.linear[0].bias = np.concatenate([tensors[f"{name}.bias"] for name in fused])
    _fill_linear(attention.linear[1], tensors, f"{prefix}attention.output.dense")
    _fill_norm(attention.layer_norm, tensors, f"{prefix}attention.output.LayerNorm")
    _fill_linear(layer.ffn.linear_0, tensors, f"{prefix}intermediate.dense")
    _fill_linear(layer.ffn.linear_1, tensors, f"{prefix}output.dense")
    _fill_norm(layer.ffn.layer_norm, tensors, f"{prefix}output.LayerNorm")


def _fill_linear(linear: Any, tensors: Tensors, name: str) -> None:
    linear.weight, linear.bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]


def _fill_norm(norm: Any, tensors: Tensors, name: str) -> None:
    norm.gamma, norm.beta = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
