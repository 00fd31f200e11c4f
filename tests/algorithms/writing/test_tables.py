"""Tests of folding what rows and columns of a table share."""

from tenure.algorithms.writing.tables import fold_shared_cells, list_columns
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim

CELLS = {
    "Redis": {"limit": "2 MB", "licence": "open", "retries": "ten"},
    "Kafka": {"limit": "2 MB", "licence": "closed", "retries": "Ten."},
}


def cited(source: str) -> Citation:
    return Citation(source=SourceId(source), start=0, end=1, quote="q")


def table(cells: dict[str, dict[str, str]]) -> Block:
    claims = [
        Claim(text=text, label=row, column=column, citations=(cited(row),), confidence=0.5 if row == "Kafka" else 0.9)
        for row, columns in cells.items()
        for column, text in columns.items()
    ]
    return Block(kind="table", heading="Engines", claims=tuple(claims))


def shape(block: Block) -> tuple[str, list[str]]:
    return block.kind, [claim.statement for claim in block.claims]


def test_columns_with_equal_cells_are_stated_once() -> None:
    """Only the column that differs remains; the others are definitions that name the rows that share them."""
    kept, shared = fold_shared_cells(table(CELLS))

    assert shape(kept) == ("table", ["Redis – licence: open", "Kafka – licence: closed"])
    assert shape(shared) == ("definitions", ["limit (Redis, Kafka): 2 MB", "retries (Redis, Kafka): Ten."])
    assert kept.heading == shared.heading == "Engines"


def test_a_folded_cell_keeps_all_citations_and_the_least_support() -> None:
    """The definition cites the passages of all equal cells and has the lowest confidence of them."""
    _, shared = fold_shared_cells(table(CELLS))

    assert [citation.source for citation in shared.claims[0].citations] == ["Redis", "Kafka"]
    assert shared.claims[0].confidence == 0.5


def test_rows_with_equal_cells_are_stated_once() -> None:
    """A row that is the same in each column becomes a definition; a table of such rows disappears."""
    cells = {"limit": {"Redis": "2 MB", "Kafka": "2 MB"}, "licence": {"Redis": "open", "Kafka": "closed"}}

    kept, shared = fold_shared_cells(table(cells))

    assert shape(kept) == ("table", ["licence – Redis: open", "licence – Kafka: closed"])
    assert shape(shared) == ("definitions", ["limit (Redis, Kafka): 2 MB"])
    assert [block.kind for block in fold_shared_cells(table({"limit": cells["limit"]}))] == ["definitions"]


def test_a_table_of_differences_is_unchanged() -> None:
    """Different cells, a missing cell, a single cell and a cell of two sentences are not folded."""
    different = table({"Redis": {"limit": "2 MB"}, "Kafka": {"limit": "4 MB"}})
    missing = table({"Redis": {"limit": "2 MB", "licence": "open"}, "Kafka": {"limit": "2 MB"}})
    twice = different.model_copy(update={"claims": (*different.claims, different.claims[0])})

    assert fold_shared_cells(different) == (different,)
    assert fold_shared_cells(table({"Redis": {"limit": "2 MB"}})) == (table({"Redis": {"limit": "2 MB"}}),)
    assert fold_shared_cells(twice) == (twice,)
    assert [block.kind for block in fold_shared_cells(missing)] == ["table", "definitions"]


def test_a_gap_is_not_equal_to_a_fact() -> None:
    """Cells of different kinds are not folded, even with the same words."""
    block = table({"Redis": {"limit": "none"}, "Kafka": {"limit": "none"}})
    first, second = block.claims
    mixed = block.model_copy(update={"claims": (first, second.model_copy(update={"kind": "gap"}))})

    assert fold_shared_cells(mixed) == (mixed,)


def test_columns_are_ordered_by_their_neighbours() -> None:
    """A column that the first row lacks comes after the column before it in its own row."""
    assert list_columns([("a", "x"), ("a", "z"), ("b", "x"), ("b", "y"), ("b", "z")]) == ["x", "y", "z"]
    assert list_columns([]) == []
