"""Load the vectors of real sentences, embedded once and kept in a folder outside the repository.

The sentences come from files and folders: every text of a `.jsonl` file, and every other file as plain text. They are
distinct, have at least five words, and are taken in the order of a hash, so that a smaller number of them is still a
mixture of all files.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tenure.algorithms.text.passage import Vectors
from tenure.algorithms.text.sentences import split_sentences
from tenure.models.embedding import EmbeddingModel

_SUFFIXES = (".jsonl", ".md", ".rst", ".txt", ".py")
_MIN_WORDS = 5
_MAX_CHARACTERS = 600
_BATCH = 2_000


class TooFewSentences(Exception):
    """The files contain fewer sentences than are asked for."""


@dataclass(frozen=True)
class Sentences:
    """Sentences and their unit vectors, shape (n, dimensions)."""

    texts: list[str]
    vectors: Vectors


def load_sentences(paths: Sequence[Path], count: int, model: EmbeddingModel, cache: Path) -> Sentences:
    """Return `count` sentences of some files; vectors that the folder `cache` lacks are computed and added to it.

    Raises:
        TooFewSentences: the files contain fewer.
    """
    texts = list_sentences(paths)[:count]
    if len(texts) < count:
        raise TooFewSentences(f"the files contain {len(texts)} sentences, fewer than {count}")
    parts = [texts[at : at + _BATCH] for at in range(0, count, _BATCH)]
    return Sentences(texts, np.concatenate([_load_part(part, model, cache) for part in parts]))


def list_sentences(paths: Sequence[Path]) -> list[str]:
    """Return the distinct sentences of files and folders in the order of their hashes."""
    found = {
        text
        for path in paths
        for file in sorted(path.rglob("*") if path.is_dir() else [path])
        if file.suffix in _SUFFIXES and file.is_file()
        for document in _read_texts(file)
        for text in _split(document)
    }
    return sorted(found, key=lambda text: hashlib.sha256(text.encode()).digest())


def _read_texts(file: Path) -> Iterator[str]:
    text = file.read_text(encoding="utf-8", errors="replace")
    if file.suffix != ".jsonl":
        yield text
        return
    for line in text.splitlines():
        yield from _list_strings(json.loads(line))


def _list_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _list_strings(part)


def _split(document: str) -> Iterator[str]:
    for sentence in split_sentences(document):
        text = " ".join(sentence.text.split())
        if len(text.split()) >= _MIN_WORDS and len(text) <= _MAX_CHARACTERS:
            yield text


def _load_part(texts: Sequence[str], model: EmbeddingModel, cache: Path) -> Vectors:
    key = hashlib.sha256("\0".join((model.name, *texts)).encode()).hexdigest()[:32]
    file = cache / f"{key}.npy"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".unfinished.npy")
        np.save(unfinished, model.embed(texts))
        unfinished.rename(file)
    vectors: Vectors = np.load(file)
    return vectors
