"""Which texts say the same in nearly the same words, as mirrors and copies of a page do.

A text's fingerprint is the least hashes of its runs of words (a bottom-k sketch): of two sketches, the share of
common hashes among the least of both estimates how much of what the two texts say together both say (Jaccard).
Fingerprints can be kept and compared without the texts.
"""

import hashlib
import re
from collections.abc import Sequence
from itertools import chain
from typing import Final

Fingerprint = tuple[int, ...]
"""Hashes in ascending order; fewer than `SIZE` for a short text, which is then compared exactly."""

SIZE: Final = 128
"""Hashes of a fingerprint: the estimate is off by 0.03 on the average where two texts are nearly the same."""
SAME: Final = 0.8
"""Share of common runs from which two texts say the same."""

_RUN: Final = 4
_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")


def fingerprint(text: str) -> Fingerprint:
    """Return the fingerprint of a text; empty for one without words."""
    words = _SIGN.findall(text.casefold())
    runs = {" ".join(words[start : start + _RUN]) for start in range(max(len(words) - _RUN + 1, min(len(words), 1)))}
    return tuple(sorted(map(_hash, runs))[:SIZE])


def similarity(one: Fingerprint, other: Fingerprint) -> float:
    """Return the estimated share of runs that two texts have in common, from 0 to 1; 0 for a text without words."""
    least = sorted(set(chain(one, other)))[:SIZE]
    return len(set(least).intersection(one, other)) / len(least) if one and other else 0.0


def repeats(fingerprints: Sequence[Fingerprint], least: float = SAME) -> tuple[int | None, ...]:
    """Return for each text the place of the first one before it that says the same; None for one that is new."""
    originals: list[int] = []
    found: list[int | None] = []
    for place, print_ in enumerate(fingerprints):
        known = next((at for at in originals if similarity(fingerprints[at], print_) >= least), None)
        found.append(known)
        if known is None:
            originals.append(place)
    return tuple(found)


def _hash(run: str) -> int:
    # One bit less than eight bytes, so that a column of signed numbers holds it.
    return int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest(), "big") >> 1
