"""Tests of the places of quotes."""

from dataclasses import replace

from tenure.report.assemble import assemble_result
from tenure.report.sources.places import FilePlace, describe_place, find_heading, find_in_file
from tests.report.samples import SOURCES, TIDES, report

TEXT = "# One\n\nFirst.\n\n## Two *and* a half\n\nSecond.\n"


def test_the_nearest_heading_is_the_last_one_before() -> None:
    """A quote belongs to the heading before it; text before the first heading has none."""
    assert find_heading(TEXT, TEXT.index("First")) == "One"
    assert find_heading(TEXT, TEXT.index("Second")) == "Two *and* a half"
    assert find_heading(f"Words.\n{TEXT}", 3) == ""


def test_a_quote_is_found_in_the_file_on_disk() -> None:
    """White space may differ; a quote that occurs twice or not at all has no place."""
    assert find_in_file("a b c", "x\n\na b\n   c") == FilePlace(offset=3, line=3)
    assert find_in_file("a b", "a b, a b") is None
    assert find_in_file("a b", "ab") is None
    assert find_in_file(" ", "a b") is None


def test_a_report_names_line_and_heading() -> None:
    """If the file is readable, a quote has its line and offsets there, else those in the stored text."""
    path = SOURCES[TIDES].uri
    file = f"---\nauthor: Ann\n---\n{SOURCES[TIDES].text}"
    found = assemble_result(report(), SOURCES, files={path: file}).sections[0].claims[0].citations[0]
    stored = assemble_result(report(), SOURCES).sections[0].claims[0].citations[0]

    assert file[found.file_start or 0 :].startswith(found.quote)
    assert describe_place(found) == "line 6, characters 29–55 of the file, under “Tides”"
    assert describe_place(stored) == "characters 9–35, under “Tides”"
    assert describe_place(stored.model_copy(update={"page": 2, "heading": ""})) == "page 2, characters 9–35"


def test_comments_of_a_program_are_no_headings() -> None:
    """A source of code has no headings."""
    sources = SOURCES | {TIDES: replace(SOURCES[TIDES], kind="code")}

    assert assemble_result(report(), sources).sections[0].claims[0].citations[0].heading == ""
