"""Alignment: how well the words of a statement are answered by the words of another text.

Every content word looks for the word most like it in the other text, both read in their contexts where the
embedding model shows vectors of tokens, and each by itself where it does not.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tenure.algorithms.text.passage import Encoder, TokenEncoder, Tokens, Vectors
from tenure.algorithms.text.sentences import STOP_WORDS, stems

_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")


@dataclass(frozen=True)
class Read:
    """A text as its words and pieces, each with a unit vector."""

    words: tuple[str, ...]
    """Its words."""
    vectors: Vectors
    """One row for each word."""
    tokens: Vectors
    """One row for each token of the embedding model."""


def read(texts: Sequence[str], encode: Encoder, tokens: TokenEncoder | None) -> list[Read]:
    """Return each text as words with vectors."""
    return [_read(text, one) for text, one in zip(texts, (tokens or alone(encode))(texts), strict=True)]


def alone(encode: Encoder) -> TokenEncoder:
    """Return what stands in for a model that shows no vectors of tokens: every word encoded by itself."""

    def tokens(texts: Sequence[str]) -> list[Tokens]:
        spans = [tuple(match.span() for match in _WORD.finditer(text)) for text in texts]
        spelt = [text[start:end] for text, found in zip(texts, spans, strict=True) for start, end in found]
        distinct = list(dict.fromkeys(spelt))
        vectors = dict(zip(distinct, encode(distinct), strict=True)) if distinct else {}
        rows = (np.asarray([vectors[text[a:b]] for a, b in found]) for text, found in zip(texts, spans, strict=True))
        return [Tokens(row, found) for row, found in zip(rows, spans, strict=True)]

    return tokens


def _read(text: str, tokens: Tokens) -> Read:
    found = list(_words(text, tokens))
    rows = np.asarray([vector for _, vector in found], dtype=np.float32)
    return Read(tuple(word for word, _ in found), rows, tokens.vectors)


def _words(text: str, tokens: Tokens) -> Iterator[tuple[str, Vectors]]:
    """Yield the words that the model has read, each with the mean of its tokens' vectors."""
    first = 0
    for match in _WORD.finditer(text):
        while first < len(tokens.spans) and tokens.spans[first][1] <= match.start():
            first += 1
        last = first
        while last < len(tokens.spans) and tokens.spans[last][0] < match.end():
            last += 1
        if last > first:
            mean = tokens.vectors[first:last].mean(axis=0)
            yield match.group(), mean / max(float(np.linalg.norm(mean)), 1e-6)


TITLED = 0.8
"""Likeness at the least of a word that stands in the title of a source."""


def likeness(claim: Read, text: Read, title: str) -> list[float]:
    """Return for every content word of a claim how well the text answers it, at most 1."""
    here = {stem for word in text.words for stem in stems(word)}
    above = set(stems(title))
    found: list[float] = []
    for word, vector in zip(claim.words, claim.vectors, strict=True):
        own = stems(word)
        if word.lower() in STOP_WORDS or not own:
            continue
        nearest = float((text.vectors @ vector).max()) if len(text.words) else 0.0
        found.append(1.0 if here.issuperset(own) else max(TITLED if above.issuperset(own) else 0.0, nearest))
    return found
