"""Tests of the section rewriter's fallback."""

from tenure.contracts.evidence.passages import Draft
from tenure.roles.writing.section_rewriter import SectionRewriterInput, fallback, render
from tests.roles.cases import DRAFT, EVIDENCE, MADE, QUESTION
from tests.roles.writing.test_section_writer import said

ON_BREAD = SectionRewriterInput(
    question=QUESTION, topic="Making bread", topic_question="How is bread made?", draft=Draft(), critiques=()
)


def test_a_section_is_composed_from_the_evidence() -> None:
    """With the same evidence the result is the same section, whatever the draft."""
    assert MADE in said(fallback(ON_BREAD, EVIDENCE))


def test_sentences_of_other_sections_are_not_repeated() -> None:
    """A sentence of another section is omitted."""
    assert MADE not in said(fallback(ON_BREAD.model_copy(update={"other_sentences": (MADE,)}), EVIDENCE))


def test_feedback_is_included() -> None:
    """Text on the feedback is part of the next draft."""
    wished = ON_BREAD.model_copy(update={"feedback": ("rye bread with a sourdough",)})

    assert "Rye bread is made with a sourdough that is days old." in said(fallback(wished, EVIDENCE))


def test_empty_parts_are_omitted_from_the_prompt() -> None:
    """Without sentences of other sections the part is omitted."""
    assert "Said in other sections" not in render(ON_BREAD.model_copy(update={"draft": DRAFT}), EVIDENCE)[1].content
