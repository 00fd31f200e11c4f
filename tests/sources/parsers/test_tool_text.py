"""Tests of documents from tool results."""

from tenure.sources.parsers.tool_text import MAX_ANSWER_LENGTH, build_calculation_document, build_tool_document


def test_a_calculation_is_one_sentence() -> None:
    """The quoted sentence contains the expression and its subject."""
    document = build_calculation_document("Length of both.", "3 km + 1 km = 4 km")

    assert document.text.split("\n\n")[0] == "Length of both: 3 km + 1 km = 4 km."
    assert (document.title, document.kind) == ("Length of both.", "prose")


def test_a_tool_result_keeps_its_lines() -> None:
    """Texts keep their lines and cannot become headings; without texts, the structured content is used."""
    document = build_tool_document("Answer", ("# Bread\nis baked.", "Cheese ripens."), {"n": 1})

    assert document.text == "Bread\nis baked.\n\nCheese ripens."
    assert '"n": 1' in build_tool_document("Answer", (), {"n": 1}).text


def test_a_long_tool_result_is_truncated() -> None:
    """A tool result is truncated to its maximum length."""
    assert len(build_tool_document("Answer", ("word " * MAX_ANSWER_LENGTH,), None).text) <= MAX_ANSWER_LENGTH
