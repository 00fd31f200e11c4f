"""What tools have brought, as documents that can be cited."""

from tenure.sources.parsers.tool_text import MAX_ANSWER_LENGTH, build_calculation_document, build_tool_document


def test_a_calculation_is_a_sentence_of_its_own() -> None:
    """The sentence that is quoted says what was calculated, and of what."""
    document = build_calculation_document("Length of both.", "3 km + 1 km = 4 km")

    assert document.text.split("\n\n")[0] == "Length of both: 3 km + 1 km = 4 km."
    assert (document.title, document.kind) == ("Length of both.", "prose")


def test_an_answer_is_kept_by_its_lines() -> None:
    """Texts are kept line by line and cannot become headings; without texts the value is kept."""
    document = build_tool_document("Answer", ("# Bread\nis baked.", "Cheese ripens."), {"n": 1})

    assert document.text == "Bread\nis baked.\n\nCheese ripens."
    assert '"n": 1' in build_tool_document("Answer", (), {"n": 1}).text


def test_an_answer_has_an_end() -> None:
    """What is longer than an answer may be is cut."""
    assert len(build_tool_document("Answer", ("word " * MAX_ANSWER_LENGTH,), None).text) <= MAX_ANSWER_LENGTH
