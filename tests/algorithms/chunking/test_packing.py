"""Tests of packing pieces into chunks."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.chunking.packing import MIN_CHUNK_TOKENS, compute_cost, pack_pieces
from tenure.algorithms.chunking.pieces import Bond, Piece

PIECES = st.lists(st.tuples(st.integers(1, 60), st.sampled_from(Bond)), min_size=1, max_size=8)


def _build(sizes: list[tuple[int, Bond]]) -> tuple[str, list[Piece]]:
    text = ""
    pieces = []
    for size, bond in sizes:
        start = len(text) + 1
        text += " " + "x" * size
        pieces.append(Piece(start, len(text), size, bond))
    return text, pieces


@given(PIECES, st.integers(60, 80))
def test_no_other_packing_is_cheaper(sizes: list[tuple[int, Bond]], target: int) -> None:
    """The cost of the chunks and of the bonds that are cut is the lowest of all packings."""
    text, pieces = _build(sizes)
    limit = target + 15

    def compute_total(starts: tuple[int, ...]) -> int | None:
        lengths = [pieces[b - 1].end - pieces[a].start for a, b in pairwise((*starts, len(pieces)))]
        if max(lengths) > limit:
            return None
        bonds = sum(pieces[start].bond for start in starts[1:])
        return bonds + sum(compute_cost(length, target) for length in lengths)

    packed = list(pack_pieces(pieces, text, target, limit, len))

    assert [piece for group, _ in packed for piece in group] == pieces
    assert [tokens for _, tokens in packed] == [group[-1].end - group[0].start for group, _ in packed]
    chosen = tuple(pieces.index(group[0]) for group, _ in packed)
    others = [(0, *rest) for count in range(len(pieces)) for rest in combinations(range(1, len(pieces)), count)]
    assert compute_total(chosen) == min(cost for other in others if (cost := compute_total(other)) is not None)


def test_first_chunks_are_longer_at_equal_cost() -> None:
    """Of packings with the same cost the one with longer first chunks is chosen."""
    text, pieces = _build([(40, Bond.NONE)] * 5)

    assert [len(group) for group, _ in pack_pieces(pieces, text, 90, 112, len)] == [2, 2, 1]


def test_small_chunk_joins_another() -> None:
    """A small chunk is avoided by an overflow or by a shorter chunk before it, if the limit permits."""
    cases = {(80, 20): [100], (60, 60, 20): [60, 80], (100, 90, 20): [100, 110], (110, 20): [110, 20]}
    for sizes, expected in cases.items():
        text, pieces = _build([(size - 1, Bond.NONE) for size in sizes])
        lengths = [tokens + 1 for _, tokens in pack_pieces(pieces, text, 99, 120, len)]
        assert lengths == expected
    assert MIN_CHUNK_TOKENS == 40


def test_pieces_without_tokens_fill_chunks() -> None:
    """A piece without tokens counts as one, so that the number of pieces in a chunk is limited."""
    text, pieces = _build([(1, Bond.NONE)] * 100)
    pieces = [piece._replace(tokens=0) for piece in pieces]

    groups = [group for group, _ in pack_pieces(pieces, text, 10, 12, lambda _: 0)]

    assert [len(group) for group in groups] == [10] * 10


def test_nothing_is_packed_into_nothing() -> None:
    """No pieces make no chunks."""
    assert list(pack_pieces([], "", 10, 12, len)) == []
