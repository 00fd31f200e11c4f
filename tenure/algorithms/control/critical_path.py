"""Measure the longest chain of calls in which each starts after the end of the one before.

The chain is what a person waits for: other calls run at the same time. It is found by interval scheduling, the call
that ends first coming first.
"""

from collections.abc import Iterable
from itertools import pairwise

CallSpan = tuple[int, int]
"""Start and end of a call."""


def split_span(span: CallSpan, parts: int) -> tuple[CallSpan, ...]:
    """Return consecutive spans for the answers of one call, each at least one unit long; none for no answer."""
    start, end = span
    length = max(end - start, parts)
    edges = [start + length * part // parts for part in range(parts + 1)] if parts else []
    return tuple(pairwise(edges))


def select_minimal_spans(spans: Iterable[CallSpan]) -> tuple[CallSpan, ...]:
    """Return the spans that contain no other span, in order: a chain never needs one that does."""
    minimal: list[CallSpan] = []
    for start, end in sorted(spans, key=lambda span: (span[1], -span[0])):
        if not minimal or start > minimal[-1][0]:
            minimal.append((start, end))
    return tuple(minimal)


def measure_critical_path(spans: Iterable[CallSpan]) -> int:
    """Return the largest number of spans that follow each other without an overlap."""
    count, free = 0, None
    for start, end in sorted(spans, key=lambda span: span[1]):
        if free is None or start >= free:
            count, free = count + 1, end
    return count
