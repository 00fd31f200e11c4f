"""Tests of tables on pages."""

import pytest

from tenure.algorithms.chunking.text_tables import list_document_tables
from tenure.sources.parsers.formats.pdf import parse_pdf
from tenure.sources.parsers.page_lines import PageTable
from tenure.sources.parsers.page_tables import PlacedWord, Rules, parse_layout
from tests.sources.pdfs import SENTENCES, typeset


def list_rows(data: bytes) -> list[tuple[str, ...]]:
    return [row.cells for table in list_document_tables(parse_pdf(data).text) for row in table.rows]


def test_tables_have_rows_and_columns() -> None:
    """A table with all of its lines, and one with lines around its header only, are read cell by cell."""
    cells = "[Station], [Colonies], [Honey (kg)], [Long Moor], [12], [140.5], [Hill], [7], [82], [Sum], [19], [222.5]"
    caption = "The honey of the year, by station."
    ruled = f"#table(columns: 3, {cells})"
    rule = "table.hline()"
    open_ = f"#table(columns: 3, stroke: none, {rule}, {cells.replace('[Long', f'{rule}, [Long')}, {rule})"
    rows = [
        ("Station", "Colonies", "Honey (kg)"),
        ("Long Moor", "12", "140.5"),
        ("Hill", "7", "82"),
        ("Sum", "19", "222.5"),
    ]

    for table in (ruled, open_):
        assert list_rows(typeset(f"{SENTENCES[0]}\n\n#figure(caption: [{caption}])[{table}]\n\n{SENTENCES[1]}")) == rows
    text = parse_pdf(typeset(f"{SENTENCES[0]}\n\n#figure(caption: [{caption}])[{ruled}]\n\n{SENTENCES[1]}")).text
    assert f"| Sum | 19 | 222.5 |\n\nFigure 1: {caption}\n\n{SENTENCES[1]}" in text.replace("Table", "Figure")


def test_a_table_of_several_pages_is_one_table() -> None:
    """A header that each page repeats becomes one row, and each row is on its page."""
    rows = ", ".join(f"[Station {n}], [{n * 3}], [{n * 7}.5]" for n in range(60))
    data = typeset(f"#table(columns: 3, table.header([Station], [Colonies], [Honey]), {rows})")
    document = parse_pdf(data)
    [table] = list_document_tables(document.text)

    assert [row.cells[0] for row in table.rows] == ["Station", *(f"Station {n}" for n in range(60))]
    assert len(document.pages) > 1
    first_rows = [document.text[start:].split("\n", 1)[0] for start in document.pages]
    assert all(row.startswith("| Station") for row in first_rows)


def test_cells_of_several_lines_are_whole() -> None:
    """Lines of a cell are joined: between ruled lines, and without them if a line continues the label of its row."""
    cells = "[Station], [Honey], [Moor of the\\ northern hills], [140], [Long Hill], [82], [Sum], [222]"
    rows = [("Station", "Honey"), ("Moor of the northern hills", "140"), ("Long Hill", "82"), ("Sum", "222")]

    assert list_rows(typeset(f"#table(columns: 2, {cells})")) == rows
    assert list_rows(typeset(f"#table(columns: 2, stroke: none, column-gutter: 1cm, {cells})")) == rows


@pytest.mark.parametrize(
    "body",
    [
        "\n".join(f"+ {sentence}" for sentence in SENTENCES * 2),
        "#columns(2)[" + " ".join(SENTENCES * 4) + "]",
        "#rect[" + " ".join(SENTENCES) + "]",
        "#line(length: 100%)\n" + " ".join(SENTENCES * 2) + "\n#line(length: 100%)",
        "#grid(columns: 3, row-gutter: 1cm, [100], [], [100], [50], [], [50], [0], [], [0], [], [2019 2020], [])",
        "$ a = b + c dot d quad (1) $\n$ e = f + g dot h quad (2) $\n$ i = k + l dot m quad (3) $",
        f"#place(dx: 2cm, table(columns: (2cm,) * 3, rows: (1cm,) * 3, {'[], ' * 9}))\n" + " ".join(SENTENCES * 2),
    ],
    ids=["list", "columns", "frame", "lines", "axes", "formulas", "drawing"],
)
def test_other_layouts_are_no_tables(body: str) -> None:
    """Lists, prose in columns and below drawings, frames, axes of plots and formulas are text."""
    assert list_rows(typeset(body)) == []


@pytest.mark.parametrize(("bracket", "tables"), [("\u23a1", 0), ("\uf8ee", 0), ("(", 1)])
def test_a_matrix_is_no_table(bracket: str, tables: int) -> None:
    """Numbers in rows and columns with the parts of a tall bracket, also of TeX, are a formula."""
    words = [
        PlacedWord(100 + 60 * x, 100 + 14 * y, 112 + 60 * x, 110 + 14 * y, str(10 * y + x))
        for y in range(4)
        for x in range(3)
    ]
    items = parse_layout([PlacedWord(80, 100, 86, 110, bracket), *words], Rules([], []))

    assert sum(isinstance(item, PageTable) for item in items) == tables
