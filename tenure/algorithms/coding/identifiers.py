"""Split code into words for full-text search, with the parts of its identifiers."""

import re
from functools import lru_cache
from typing import Final

# `parse_HTTPHeader`, `a1` and `__init__`; not `x` or `12`
_IDENTIFIER: Final = re.compile(r"[^\W\d_]\w+|_+[^\W\d_]\w*")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
"""Part of an identifier: `parse`, `HTTP` and `Header` of `parse_HTTPHeader`."""
MAX_IDENTIFIER_CHARACTERS: Final = 60
"""Longer words are data, such as encoded images."""


@lru_cache(maxsize=200_000)
def _expand(identifier: str) -> str:
    """Return an identifier in lower case, followed by its parts if it has several."""
    parts = [part for part in _PART.findall(identifier) if len(part) > 1]
    lowered = identifier.strip("_").lower()
    joined = " ".join(parts).lower()
    return lowered if joined == lowered or not joined else f"{lowered} {joined}"


def split_identifiers(text: str) -> str:
    """Return the words of a text and the parts of its identifiers in lower case, separated by spaces."""
    return " ".join(_expand(word) for word in _IDENTIFIER.findall(text) if len(word) <= MAX_IDENTIFIER_CHARACTERS)
