"""Test the comparison of tables with their truth."""

from pathlib import Path

import pytest

from benchmarks.tables.__main__ import Figures, Sample, count_cells, main, measure, read_truth, read_with_tenure
from tests.sources.pdfs import typeset

TRUTH = """<document><table id="1"><region id="1" page="1">
<cell start-row="0" start-col="1" end-col="2"><content>Summer</content></cell>
<cell start-row="1" start-col="0"><content>Station</content></cell>
<cell start-row="1" start-col="1"><content>Colonies</content></cell>
<cell start-row="1" start-col="2"><content>Honey (kg)</content></cell>
<cell start-row="2" start-col="0"><content>Moor</content></cell>
<cell start-row="2" start-col="1"><content>12</content></cell>
<cell start-row="2" start-col="2"><content>140.5</content></cell>
</region></table></document>"""
GRID = [["", "Summer", ""], ["Station", "Colonies", "Honey(kg)"], ["Moor", "12", "140.5"]]


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "bees-str.xml"
    path.write_text(TRUTH)
    return path


@pytest.mark.parametrize(
    ("grids", "counts"),
    [
        ([GRID], (7, 7, 7, 1)),
        ([[["", "", "Summer"], *GRID[1:]]], (7, 7, 7, 1)),  # a cell over two columns is right in each of them
        ([[["Bees", "", ""], *GRID]], (7, 7, 8, 1)),  # a row too many costs itself
        ([[*GRID[:2], ["Moor", "140.5", "12"]]], (5, 5, 7, 1)),  # cells in the wrong column
        ([[["Moor", "12"]], [["Hill"]]], (2, 2, 3, 0)),  # two tables, one of them wrong
        ([], (0, 0, 0, 0)),
    ],
    ids=["right", "span", "title", "order", "parts", "nothing"],
)
def test_cells_are_right_in_their_row_and_column(
    truth: Path, grids: list[list[list[str]]], counts: tuple[int, ...]
) -> None:
    """Texts count in the aligned rows and columns of the table that agrees most."""
    figures = Figures("system")
    count_cells(figures, read_truth(truth)[1], grids)

    assert (figures.right_true, figures.right_read, figures.read_cells, figures.found) == counts
    assert figures.true_cells == 7


def test_a_folder_is_measured(truth: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The parser reads a typeset table as its truth has it, and the command prints the figures."""
    cells = "[], table.cell(colspan: 2)[Summer], [Station], [Colonies], [Honey (kg)], [Moor], [12], [140.5]"
    truth.with_name("bees.pdf").write_bytes(typeset(f"#table(columns: 3, {cells})"))

    assert main([str(truth.parent), "--half", "choose", "--system", "tenure"]) == 0
    assert "1 tables in 1 files, 1 found; cells right: precision 1.000, recall 1.000 of 7" in capsys.readouterr().out


def test_a_failing_system_is_named(truth: Path) -> None:
    """A system that fails on a file has read nothing of it, and the file is named."""
    pdf = truth.with_name("bees.pdf")
    pdf.write_bytes(b"nothing")
    samples = [Sample(pdf, read_truth(truth))]

    def fail(path: Path) -> dict[int, list[list[str]]]:
        raise ValueError(path.name)

    assert measure("system", fail, samples, with_files=False).failed == ["bees.pdf: ValueError: bees.pdf"]
    assert measure("tenure", read_with_tenure, samples, with_files=False).read_cells == 0
