"""The reasoning in the result document and in every format of the report."""

from typing import get_args

from tenure.contracts.choices import ReasoningStrategy
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep, RejectedThought, StepKind
from tenure.contracts.result.result import Result
from tenure.report.assemble import assemble_result
from tenure.report.layout.reasoning import HOW, KINDS
from tenure.report.render.html import render_html as html
from tenure.report.render.markdown import render_markdown
from tenure.report.render.pdf import render_pdf as pdf
from tests.report.samples import FALLS, PULLS, RISES, SOURCES, report

LINE = Reasoning(
    strategy="causal",
    steps=(
        ReasoningStep(kind="cause", claim=PULLS),
        ReasoningStep(kind="event", claim=FALLS, link="1687"),
    ),
    conclusion=ReasoningStep(kind="inference", claim=RISES, follows=(1, 2), link="the [water]"),
    answer="the Moon",
    confidence=0.62,
    rejected=(
        RejectedThought(text="The *wind* does it.", score=0.2, reason="it is not similar enough to the question"),
    ),
)


def reported(line: Reasoning | None) -> Result:
    """Return a report with a line of thought."""
    return assemble_result(report(reasoning=line), SOURCES)


def test_the_document_contains_the_line_of_reasoning() -> None:
    """Steps and conclusion are in the document with numbered citations, as are the alternatives."""
    found = reported(LINE).reasoning

    assert found is not None and found.conclusion is not None
    assert (found.strategy, found.answer) == ("causal", "the Moon")
    assert [step.claim.text for step in found.steps] == [PULLS.text, FALLS.text]
    assert found.conclusion.follows == (1, 2)
    assert all(claim.citations for claim in found.claims)
    assert found.rejected[0].score == 0.2


def test_a_reader_follows_it_step_by_step() -> None:
    """The Markdown report numbers the steps, says what each rests on, and gives every one its mark."""
    text = render_markdown(reported(LINE))

    assert "## Reasoning\n\n*From causes to effects.*" in text
    assert f"1. **Cause:** {PULLS.text} [1]\n2. **1687:** {FALLS.text} [2]" in text
    assert f"**Conclusion (from 1 and 2, by “the [water]”):** {RISES.text} [2]" in text
    assert r"- The \*wind\* does it. (it is not similar enough to the question)" in text
    assert "in: " in text and "; Reasoning" in text


def test_a_chain_of_facts_is_shown_in_one_line() -> None:
    """The names that lead from fact to fact are shown before the steps, the answer last."""
    steps = (ReasoningStep(kind="hop", claim=PULLS), ReasoningStep(kind="hop", claim=FALLS, link="the Moon"))
    line = Reasoning(strategy="multi_hop", steps=steps, answer="the tides")

    assert "## Reasoning\n\n*From one fact to the next: the Moon → the tides.*" in render_markdown(reported(line))


def test_the_page_shows_it_too() -> None:
    """The page has a part of its own with an ordered list, and foreign words stay words."""
    page = html(reported(LINE))

    assert '<h2 id="reasoning" dir="auto">Reasoning</h2>' in page
    assert '<a href="#reasoning" dir="auto">Reasoning</a>' in page
    assert '<ol><li dir="auto"><strong>Cause:</strong>' in page
    assert "<strong>Conclusion (from 1 and 2, by “the [water]”):</strong>" in page
    assert pdf(reported(LINE)).startswith(b"%PDF")


def test_a_line_without_a_conclusion_is_shown() -> None:
    """A missing conclusion and missing alternatives are not made up."""
    open_line = LINE.model_copy(update={"conclusion": None, "rejected": ()})
    text, page = render_markdown(reported(open_line)), html(reported(open_line))

    assert "**Conclusion" not in text and "Weighed" not in text
    assert "<strong>Conclusion" not in page and "Weighed" not in page


def test_a_report_without_reasoning_has_no_such_part() -> None:
    """A report without reasoning has no such part."""
    text, page = render_markdown(reported(None)), html(reported(None))

    assert "## Reasoning" not in text and 'id="reasoning"' not in page


def test_everything_has_its_words() -> None:
    """Every strategy and every kind of step is named."""
    assert set(HOW) == set(get_args(ReasoningStrategy))
    assert set(KINDS) == set(get_args(StepKind))
