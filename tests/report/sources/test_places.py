"""Tests of the places of quotes."""

from dataclasses import replace

import pytest

from tenure.contracts.result.result import ResultCitation
from tenure.report.assemble import assemble_result
from tenure.report.sources.places import (
    FilePlace,
    FileText,
    TablePlace,
    describe_part,
    describe_place,
    find_heading,
    find_table_place,
)
from tenure.report.translation import use_language
from tests.report.samples import SOURCES, TIDES, report

TEXT = "# One\n\nFirst.\n\n## Two *and* a half\n\nSecond.\n"


def test_the_nearest_heading_is_the_last_one_before() -> None:
    """A quote belongs to the heading before it; text before the first heading has none."""
    assert find_heading(TEXT, TEXT.index("First")) == "One"
    assert find_heading(TEXT, TEXT.index("Second")) == "Two *and* a half"
    assert find_heading(f"Words.\n{TEXT}", 3) == ""


def test_a_quote_is_found_in_the_file_on_disk() -> None:
    """White space may differ; a quote that occurs twice or not at all has no place."""
    assert FileText("x\n\na b\n   c").find("a b c") == FilePlace(offset=3, line=3)
    assert FileText("a b, a b").find("a b") is None
    assert FileText("ab").find("a b") is None
    assert FileText("a b").find(" ") is None


def test_a_quote_with_markup_has_its_line() -> None:
    """A quote that is written with markup in the file is found by five words in a row that occur only once."""
    file = FileText(
        "One to five: a b c d.\n\nThe ``forget`` command [#4](https://x.example) drops\nold ones at night.\n"
    )

    assert file.find("The forget command #4 drops old ones at night.") == FilePlace(line=3, offset=None)
    assert file.find("An a b c d of e.") is None
    assert FileText("five words in a row, five words in a row").find("five words in a row.") is None


def test_a_report_names_line_and_heading() -> None:
    """If the file is readable, a quote has its line and offsets there, else those in the stored text."""
    path = SOURCES[TIDES].uri
    file = f"---\nauthor: Ann\n---\n{SOURCES[TIDES].text}"
    found = assemble_result(report(), SOURCES, files={path: file}).sections[0].claims[0].citations[0]
    stored = assemble_result(report(), SOURCES).sections[0].claims[0].citations[0]

    assert file[found.file_start or 0 :].startswith(found.quote)
    assert describe_place(found) == "line 6, under “Tides”"
    assert describe_place(stored) == "from character 9, under “Tides”"
    assert describe_place(stored.model_copy(update={"page": 2, "heading": ""})) == "page 2, from character 9"


def test_comments_of_a_program_are_no_headings() -> None:
    """A source of code has no headings."""
    sources = SOURCES | {TIDES: replace(SOURCES[TIDES], kind="code")}

    assert assemble_result(report(), sources).sections[0].claims[0].citations[0].heading == ""


TABLE = "Honey:\n\n| Station | Honey |\n| Moor | 140.5 |\n| Hill | 82 |\n\nThe end."


@pytest.mark.parametrize(
    ("quote", "place"),
    [
        ("| Hill | 82 |", TablePlace(3, ("Station", "Honey"))),
        ("140.5", TablePlace(2, ("Honey",))),
        ("Moor", TablePlace(2, ("Station",))),
        ("The end.", None),
        ("Honey:", None),
    ],
)
def test_a_cell_is_found_by_row_and_column(quote: str, place: TablePlace | None) -> None:
    """A quote in a table has its row and the names of the quoted columns, and other quotes have none."""
    start = TABLE.index(quote)

    assert find_table_place(TABLE, start, start + len(quote)) == place


def test_row_and_columns_are_named() -> None:
    """The place of a cell names its row and its column."""
    citation = ResultCitation(source=1, start=9, end=14, quote="140.5", page=2, row=3, columns=("Honey",))

    assert describe_place(citation) == "page 2, from character 9, row 3 of a table, column “Honey”"


@pytest.mark.parametrize(
    ("changes", "english", "german"),
    [
        ({"page": 3, "on_slide": True}, "slide 3", "Folie 3"),
        ({"page": 3, "place": "Figure 2.1"}, "Figure 2.1, page 3", "Abbildung 2.1, Seite 3"),
        ({"place": "sheet Costs, cell B7"}, "sheet Costs, cell B7", "Blatt Costs, Zelle B7"),
        ({"place": "cells B7:D9"}, "cells B7:D9", "Zellen B7:D9"),
        ({"place": "attachment a.xlsx, sheet Costs, cell B7"}, *["attachment a.xlsx, sheet Costs, cell B7"] * 2),
        ({"place": "00:12:31"}, "00:12:31", "00:12:31"),
    ],
)
def test_parts_are_named_in_the_language_of_the_report(changes: dict[str, object], english: str, german: str) -> None:
    """A slide is no page, and the words of a label are translated; names of documents and moments stay."""
    citation = ResultCitation(source=1, start=9, end=14, quote="140.5").model_copy(update=changes)

    assert describe_part(citation) == english
    with use_language("de"):
        assert describe_part(citation) == german
