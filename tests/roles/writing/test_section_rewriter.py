"""The section rewriter's twin."""

from tenure.contracts.evidence.passages import Draft
from tenure.roles.writing.section_rewriter import SectionRewriterInput, offline, render
from tests.roles.cases import DRAFT, EVIDENCE, MADE, QUESTION
from tests.roles.writing.test_section_writer import said

ON_BREAD = SectionRewriterInput(
    question=QUESTION, topic="Making bread", topic_question="How is bread made?", draft=Draft(), critiques=()
)


def test_a_section_is_composed_again_over_the_evidence() -> None:
    """With the same evidence the same section can be had again, whatever the draft was."""
    assert MADE in said(offline(ON_BREAD, EVIDENCE))


def test_what_other_sections_say_is_not_repeated() -> None:
    """A sentence that stands elsewhere in the report is left there."""
    assert MADE not in said(offline(ON_BREAD.model_copy(update={"said": (MADE,)}), EVIDENCE))


def test_a_wish_comes_first() -> None:
    """What a person asked of the section is in its next draft."""
    wished = ON_BREAD.model_copy(update={"wishes": ("rye bread with a sourdough",)})

    assert "Rye bread is made with a sourdough that is days old." in said(offline(wished, EVIDENCE))


def test_a_prompt_leaves_out_what_there_is_not() -> None:
    """Without sentences of other sections nothing is said of them."""
    assert "Said in other sections" not in render(ON_BREAD.model_copy(update={"draft": DRAFT}), EVIDENCE)[1].content
