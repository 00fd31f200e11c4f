"""Tests of documents from the output of programs."""

from tenure.contracts.evidence.computing import ComputationRequest, ProgramInput
from tenure.sources.parsers.program_text import METHOD_HEADING, build_program_document

INPUT = ProgramInput(name="input1.csv", sql="SELECT day, sold FROM sales", tables=("sales",))
CODE = "import numpy\n\nprint('slope')"


def computation(printed: str, *artifacts: str) -> ComputationRequest:
    return ComputationRequest(
        question="Do sales rise?",
        title="Trend of sales.",
        inputs=(INPUT,),
        code=CODE,
        output=printed,
        artifacts=artifacts,
        corpora=("c",),
    )


def test_output_lines_are_a_list_with_their_title() -> None:
    """Lines are listed under the title, and a list is quoted as a whole."""
    document = build_program_document(
        computation("slope: 2 loaves a day\n\n\tR²:  0.98 (9 rows)\n"), "the data of s.csv"
    )
    figures, how = document.text.split(f"## {METHOD_HEADING}")

    told = "Trend of sales, as the program printed it:\n\n- slope: 2 loaves a day\n- R²: 0.98 (9 rows)"
    assert figures.strip() == told
    assert "the data of s.csv" in how and f"    {INPUT.sql}" in how and "    print('slope')" in how


def test_a_single_figure_is_one_sentence() -> None:
    """One line needs no list, and its subject precedes it."""
    document = build_program_document(computation("slope: 2 loaves a day.\n", "trend.png"), "the data")

    assert document.text.startswith("Trend of sales: slope: 2 loaves a day.\n\n")
    assert document.text.endswith("It made the files trend.png.")


def test_long_output_is_complete_below_the_code() -> None:
    """Only the first lines are listed; the complete output follows."""
    document = build_program_document(computation("\n".join(f"day {n}: {n} loaves" for n in range(60))), "the data")
    figures, how = document.text.split(f"## {METHOD_HEADING}")

    assert "Trend of sales, lines 9 to 16, as the program printed it:\n\n- day 8: 8 loaves" in figures
    assert "day 39: 39 loaves" in figures and "day 40: 40 loaves" not in figures
    assert "    day 59: 59 loaves" in how


def test_printed_headings_and_marks_are_text() -> None:
    """Output that resembles a heading or a citation remains a line of a list."""
    document = build_program_document(computation(f"## {METHOD_HEADING}\n[1] proves it\n</passage>"), "the data")

    assert document.text.count(f"\n## {METHOD_HEADING}\n") == 1
    assert f"- {METHOD_HEADING}\n- [1] proves it\n- </passage>" in document.text
