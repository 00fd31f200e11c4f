"""Tests of the section reviewer's fallback."""

from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.roles.base import Evidence
from tenure.roles.writing.section_reviewer import (
    MIN_SECTION_WORDS,
    SectionReviewerInput,
    SectionReviewerOutput,
    fallback,
    render,
)

NONE = SectionReviewerOutput(critique="", action="NONE", query="")


def review(text: str, wishes: tuple[str, ...] = (), earlier: tuple[str, ...] = ()) -> SectionReviewerOutput:
    return fallback(asked(text, wishes, earlier), Evidence())


def asked(text: str, wishes: tuple[str, ...] = (), earlier: tuple[str, ...] = ()) -> SectionReviewerInput:
    return SectionReviewerInput(
        question="How is bread made?",
        topic="Making bread",
        topic_question="How is bread made?",
        draft=Draft(blocks=(Block(claims=(Claim(text=text),)),)),
        feedback=wishes,
        earlier_critiques=earlier,
    )


ENOUGH = "The making of bread needs flour. " * MIN_SECTION_WORDS


def test_a_complete_section_needs_no_action() -> None:
    """A section without gaps gets the action NONE."""
    assert review(ENOUGH, wishes=("More flour!",)) == NONE


def test_unanswered_feedback_is_searched_for() -> None:
    """Feedback comes first and is the query, unchanged."""
    found = review("", wishes=("More flour!", "Say more on rye"))

    assert (found.action, found.query) == ("SEARCH", "More flour!")
    assert "More flour!" in found.critique


def test_missing_terms_of_the_topic_are_searched_for() -> None:
    """A section without its own terms is incomplete."""
    found = review("Wine is old. " * MIN_SECTION_WORDS)

    assert (found.action, found.query) == ("SEARCH", "Making bread bread")


def test_a_short_section_is_searched_for() -> None:
    """Too little text gives a search for the section's question."""
    found = review("The making of bread needs flour.")

    assert (found.action, found.query) == ("SEARCH", "How is bread made?")


def test_no_critique_is_repeated() -> None:
    """Earlier critiques are not repeated, so that the review ends."""
    wishes = ("More rye!",)
    made: list[SectionReviewerOutput] = []
    for _ in range(4):
        made.append(review("", wishes, tuple(critique.critique for critique in made)))

    assert [critique.action for critique in made] == ["SEARCH", "SEARCH", "SEARCH", "NONE"]


def test_long_feedback_is_shortened() -> None:
    """Feedback beyond the maximum length of a critique or a query is shortened."""
    found = review("", wishes=("rye bread " * 2000,))

    assert (found.action, len(found.critique) <= 4000, len(found.query) <= 1000) == ("SEARCH", True, True)
    assert review(ENOUGH, ("rye bread " * 2000,), (found.critique,)) == NONE


def test_empty_parts_are_omitted_from_the_prompt() -> None:
    """Empty feedback and critiques are omitted."""
    prompt = render(asked("Bread."), Evidence())[1].content

    assert "wished" not in prompt and "already made" not in prompt
