"""Pack pieces into chunks so that the bonds which are cut are weak and the chunks have about the target length."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from tenure.algorithms.chunking.pieces import Piece, TokenCounter

MIN_CHUNK_TOKENS = 40
"""A chunk with fewer tokens is small."""
_OVERFLOW_COST = 4
"""Cost of a chunk above the target, in addition to the cost of 1 that every chunk has."""
_SMALL_COST = 6
"""Additional cost of a small chunk; the overflow of one chunk costs less than a second, small one."""


def pack_pieces(
    pieces: Sequence[Piece], text: str, target: int, limit: int, count: TokenCounter
) -> Iterator[tuple[Sequence[Piece], int]]:
    """Yield the pieces of each chunk with the number of their tokens.

    The chunks are the cheapest of all possible ones, found by dynamic programming. The cost is the sum of the bonds
    that are cut and of the costs of the chunks. At equal costs, the earlier chunks are longer. A chunk is filled up to
    the target, and never has more tokens than the limit. Tokens of the gap between two pieces are added, because some
    tokenizers count white space.
    """
    if not pieces:
        return
    gaps = [0, *(count(text[before.end : after.start]) for before, after in pairwise(pieces))]
    # A piece counts as at least one token, so that a chunk has at most as many pieces as tokens.
    sizes = [max(piece.tokens, 1) for piece in pieces]
    ends = list(accumulate((gap + size for gap, size in zip(gaps, sizes, strict=True)), initial=0))
    # A single chunk is the cheapest if it does not exceed the target.
    starts = [0] if ends[-1] <= target else _find_starts([piece.bond for piece in pieces], gaps, ends, target, limit)
    for start, end in pairwise((*starts, len(pieces))):
        yield pieces[start:end], ends[end] - ends[start] - gaps[start]


def compute_cost(tokens: int, target: int) -> int:
    """Return the cost of a chunk of the given length."""
    return 1 + _OVERFLOW_COST * (tokens > target) + _SMALL_COST * (tokens < MIN_CHUNK_TOKENS)


def _find_starts(bonds: Sequence[int], gaps: Sequence[int], ends: Sequence[int], target: int, limit: int) -> list[int]:
    """Return the index of the first piece of each chunk."""
    costs = [0]
    best_starts = [0]
    for end in range(1, len(ends)):
        best, best_start = -1, end - 1
        for start in range(end - 1, -1, -1):
            tokens = ends[end] - ends[start] - gaps[start]
            if tokens > limit and start < end - 1:
                break
            cost = costs[start] + bonds[start] * (start > 0) + compute_cost(tokens, target)
            if best < 0 or cost < best:
                best, best_start = cost, start
        costs.append(best)
        best_starts.append(best_start)
    starts = []
    end = len(bonds)
    while end:
        end = best_starts[end]
        starts.append(end)
    return starts[::-1]
