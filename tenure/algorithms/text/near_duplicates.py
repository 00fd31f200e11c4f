"""Detect near-duplicate texts, such as mirrors and copies of a web page, with MinHash sketches.

The fingerprint of a text is a bottom-k sketch (Broder, 1997): the k smallest hashes of its word shingles. The share of
common hashes among the k smallest of two sketches estimates the Jaccard similarity of the texts. Fingerprints can be
stored and compared without the texts.
"""

import hashlib
import re
from itertools import chain
from typing import Final

Fingerprint = tuple[int, ...]
"""Hashes in ascending order; a short text has fewer than `MAX_FINGERPRINT_HASHES` and is compared exactly."""

MAX_FINGERPRINT_HASHES: Final = 128
"""Hashes of a fingerprint; the mean error of the estimate is 0.03 for near-duplicates."""
MIN_DUPLICATE_SIMILARITY: Final = 0.8
"""Minimum share of common shingles of near-duplicates."""

_SHINGLE_WORDS: Final = 4  # "the mill closed in", "mill closed in 1990".
# A word, or one ideograph, syllable sign or Hangul character.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")


def compute_fingerprint(text: str) -> Fingerprint:
    """Compute the fingerprint of a text; empty if the text has no words."""
    words = _TOKEN.findall(text.casefold())
    shingles = {
        " ".join(words[start : start + _SHINGLE_WORDS])
        for start in range(max(len(words) - _SHINGLE_WORDS + 1, min(len(words), 1)))
    }
    digests = (hashlib.blake2b(shingle.encode(), digest_size=8).digest() for shingle in shingles)
    # 63 bits fit into a signed 64-bit column.
    return tuple(sorted(int.from_bytes(digest, "big") >> 1 for digest in digests)[:MAX_FINGERPRINT_HASHES])


def estimate_similarity(a: Fingerprint, b: Fingerprint) -> float:
    """Estimate the Jaccard similarity of two texts from their fingerprints; 0 if one has no words."""
    sketch = sorted(set(chain(a, b)))[:MAX_FINGERPRINT_HASHES]
    return len(set(sketch).intersection(a, b)) / len(sketch) if a and b else 0.0
