"""Test what a follow-up question takes from the answers before it."""

import pytest

from tenure.algorithms.writing.conversation import continue_calculation, summarize_report
from tenure.report.assemble import assemble_result
from tests.report.samples import SOURCES, report


@pytest.mark.parametrize(
    ("question", "answers", "expected"),
    [
        ("And divided by 480?", ("12,000 loaves.",), "What is 12,000 divided by 480?"),
        ("divided by 480", ("12,000", "It was 3.5 tons."), "What is 3.5 divided by 480?"),
        ("What is that times 2?", ("The town has 7,000 inhabitants.", ""), "What is 7,000 times 2?"),
        ("And divided by 480?", ("From 1990 to 2000 it was 12,000.",), ""),
        ("And divided by 480?", ("12,000. In 1990 it was 7,000.",), "What is 12,000 divided by 480?"),
        ("And divided by 480?", ("Nobody knows.",), ""),
        ("And divided by whom?", ("12,000",), ""),
        ("What is 6 divided by 3?", ("12,000",), ""),
    ],
)
def test_a_calculation_is_continued_with_a_certain_number(
    question: str, answers: tuple[str, ...], expected: str
) -> None:
    """The single number of the newest answer with numbers is computed with; without one the question stays."""
    assert continue_calculation(question, answers) == expected


def test_a_report_is_shortened_to_its_answer() -> None:
    """The sentences of the abstract stay, without their marks."""
    result = assemble_result(report(), SOURCES)

    assert summarize_report(result) == " ".join(claim.text for claim in result.abstract_claims)
