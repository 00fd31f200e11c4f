"""Align the words of a claim with the most similar words of another text.

The words are compared in context if the embedding model returns token vectors, and in isolation if it does not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenure.algorithms.text.passage import EncodedTokens, Encoder, TokenEncoder, Vectors
from tenure.algorithms.text.sentences import STOP_WORDS, stem_words

_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")


@dataclass(frozen=True)
class EncodedText:
    """A text as words and tokens with unit vectors."""

    words: tuple[str, ...]
    """Words of the text."""
    word_vectors: Vectors
    """One row per word."""
    token_vectors: Vectors
    """One row per token of the embedding model."""


def encode_texts(texts: Sequence[str], encode: Encoder, tokens: TokenEncoder | None) -> list[EncodedText]:
    """Encode texts as words with vectors; the words are encoded in isolation if `tokens` is None."""
    return [
        _encode_text(text, encoded)
        for text, encoded in zip(texts, (tokens or build_word_encoder(encode))(texts), strict=True)
    ]


def build_word_encoder(encode: Encoder) -> TokenEncoder:
    """Return a token encoder that encodes each word in isolation, for models without token vectors."""

    def tokens(texts: Sequence[str]) -> list[EncodedTokens]:
        spans = [tuple(match.span() for match in _WORD.finditer(text)) for text in texts]
        words = [text[start:end] for text, matched in zip(texts, spans, strict=True) for start, end in matched]
        distinct = list(dict.fromkeys(words))
        vectors = dict(zip(distinct, encode(distinct), strict=True)) if distinct else {}
        vectors_by_text = (
            np.asarray([vectors[text[a:b]] for a, b in matched]) for text, matched in zip(texts, spans, strict=True)
        )
        return [EncodedTokens(row, matched) for row, matched in zip(vectors_by_text, spans, strict=True)]

    return tokens


def _encode_text(text: str, tokens: EncodedTokens) -> EncodedText:
    """Return the words within the model's window, each with the normalised mean of its token vectors."""
    words: list[str] = []
    ranges: list[tuple[int, int]] = []
    first = 0
    for match in _WORD.finditer(text):
        while first < len(tokens.spans) and tokens.spans[first][1] <= match.start():
            first += 1
        last = first
        while last < len(tokens.spans) and tokens.spans[last][0] < match.end():
            last += 1
        if last > first:
            words.append(match.group())
            ranges.append((first, last))
    return EncodedText(tuple(words), _average_rows(tokens.vectors, ranges), tokens.vectors)


def _average_rows(vectors: Vectors, ranges: Sequence[tuple[int, int]]) -> Vectors:
    """Return the mean of each range of rows, of unit length."""
    if not ranges:
        return np.zeros((0, vectors.shape[-1]), dtype=np.float32)
    first, last = np.asarray(ranges).T
    sums = np.vstack([np.zeros_like(vectors[:1]), np.cumsum(vectors, axis=0)])
    means = (sums[last] - sums[first]) / (last - first)[:, None]
    unit: Vectors = (means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)).astype(np.float32)
    return unit


MIN_TITLE_SIMILARITY = 0.8
"""Minimum similarity of a word that occurs in the title of the source."""


def score_word_alignment(claim: EncodedText, text: EncodedText, title: str) -> list[float]:
    """Return for each content word of a claim the similarity of its best match in a text, at most 1."""
    text_stems = {stem for word in text.words for stem in stem_words(word)}
    title_stems = set(stem_words(title))
    if claim.words and text.words:
        similarities = (claim.word_vectors @ text.word_vectors.T).max(axis=1).tolist()
    else:
        similarities = [0.0] * len(claim.words)
    scores: list[float] = []
    for word, nearest in zip(claim.words, similarities, strict=True):
        word_stems = stem_words(word)
        if word.lower() in STOP_WORDS or not word_stems:
            continue
        in_title = MIN_TITLE_SIMILARITY if title_stems.issuperset(word_stems) else 0.0
        scores.append(1.0 if text_stems.issuperset(word_stems) else max(in_title, nearest))
    return scores
