"""Test the layout of claims."""

from typing import Any

from tenure.contracts.result.result import ResultCitation, ResultClaim
from tenure.report.layout.blocks import split_into_blocks


def claim(text: str, begins: str | None = None, **fields: Any) -> ResultClaim:
    return ResultClaim.model_validate({"text": text, "status": "supported", "begins": begins, **fields})


def shape(*claims: ResultClaim) -> list[tuple[str, list[str]]]:
    return [(block.kind, [one.claim.text for one in block.claims]) for block in split_into_blocks(claims)]


def test_paragraphs_and_lists_end_at_the_next_block() -> None:
    """A paragraph ends where the next block begins, and a list at its last item."""
    claims = [claim("a", "paragraph"), claim("b"), claim("c", "paragraph"), claim("d", "bullet"), claim("e", "bullet")]

    assert shape(*claims, claim("f", "number"), claim("g")) == [
        ("paragraph", ["a", "b"]),
        ("paragraph", ["c"]),
        ("bullets", ["d", "e"]),
        ("numbered", ["f"]),
        ("paragraph", ["g"]),
    ]


def test_claims_without_a_block_are_one_paragraph() -> None:
    """Claims of an older document, which lack the field, are one paragraph."""
    assert shape(claim("a"), claim("b")) == [("paragraph", ["a", "b"])]


def test_neighbours_on_the_same_sources_share_a_mark() -> None:
    """In a paragraph the last of them has it for all; a doubtful sentence and items of a list keep their own."""
    cited = [ResultCitation(source=2, quote="it rises", start=0, end=8)]
    a, b, c = (claim(text, citations=cited) for text in "abc")
    doubtful = c.model_copy(update={"status": "neutral"})
    (paragraph,) = split_into_blocks([a, b, doubtful, c])
    (bullets,) = split_into_blocks([one.model_copy(update={"begins": "bullet"}) for one in (a, b)])

    assert [one.marked for one in paragraph.claims] == [(), (a, b), (doubtful,), (c,)]
    assert all(one.marked for one in bullets.claims)


def test_each_code_block_is_shown_by_itself() -> None:
    """Two pieces of code are two blocks."""
    assert shape(claim("a", "code"), claim("b", "code")) == [("code", ["a"]), ("code", ["b"])]


def test_cells_are_arranged_by_row_and_column() -> None:
    """A table has its columns in order also if the first row lacks one, and a missing cell is empty."""
    cells = [("A", "speed"), ("A", "cost"), ("B", "speed"), ("B", "size"), ("B", "cost"), ("B", "cost")]
    claims = [claim(f"{row} {column}", "cell", label=row, column=column) for row, column in cells]

    (table,) = split_into_blocks(claims)

    assert table.columns == ("speed", "size", "cost")
    assert [(row.label, [len(cell) for cell in row.cells]) for row in table.rows] == [
        ("A", [1, 0, 1]),
        ("B", [1, 1, 2]),
    ]


def test_a_definition_may_have_several_sentences() -> None:
    """A claim with the term of the definition before it continues it; one without a term is a paragraph."""
    claims = [
        claim("a", "definition", label="x"),
        claim("b", label="x"),
        claim("c", "definition", label="y"),
        claim("d"),
    ]

    block, rest = split_into_blocks(claims)

    assert [(row.label, [one.claim.text for one in row.cells[0]]) for row in block.rows] == [
        ("x", ["a", "b"]),
        ("y", ["c"]),
    ]
    assert (rest.kind, rest.rows) == ("paragraph", ())


def test_a_sub_heading_is_shown_once() -> None:
    """Blocks with the same sub-heading share it, and another one starts a block."""
    claims = [
        claim("a", "paragraph"),
        claim("b", "paragraph", heading="Limits"),
        claim("c", "bullet", heading="Limits"),
        claim("d", "bullet", heading="Costs"),
    ]

    assert [block.heading for block in split_into_blocks(claims)] == ["", "Limits", "", "Costs"]


def test_a_claim_names_each_source_once_in_order() -> None:
    """Several quotes of a source and sources in any order make one ascending list."""
    cited = tuple(ResultCitation(source=n, start=0, end=1, quote="q") for n in (3, 1, 3))
    (block,) = split_into_blocks([claim("a").model_copy(update={"citations": cited})])

    assert block.claims[0].sources == (1, 3)
