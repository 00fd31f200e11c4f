"""The section reviewer's twin."""

from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.roles.base import Evidence
from tenure.roles.writing.section_reviewer import THIN, SectionReviewerInput, SectionReviewerOutput, offline, render

NONE = SectionReviewerOutput(critique="", action="NONE", query="")


def review(text: str, wishes: tuple[str, ...] = (), earlier: tuple[str, ...] = ()) -> SectionReviewerOutput:
    return offline(asked(text, wishes, earlier), Evidence())


def asked(text: str, wishes: tuple[str, ...] = (), earlier: tuple[str, ...] = ()) -> SectionReviewerInput:
    return SectionReviewerInput(
        question="How is bread made?",
        topic="Making bread",
        topic_question="How is bread made?",
        draft=Draft(blocks=(Block(claims=(Claim(text=text),)),)),
        wishes=wishes,
        earlier=earlier,
    )


ENOUGH = "The making of bread needs flour. " * THIN


def test_a_full_section_on_its_topic_passes() -> None:
    """Where nothing is missing nothing is done."""
    assert review(ENOUGH, wishes=("More flour!",)) == NONE


def test_a_wish_that_was_not_met_is_searched_for() -> None:
    """What a person wished comes before all else, in their own words."""
    found = review("", wishes=("More flour!", "Say more on rye"))

    assert (found.action, found.query) == ("SEARCH", "More flour!")
    assert "More flour!" in found.critique


def test_a_term_of_the_topic_never_mentioned_is_searched_for() -> None:
    """A section that does not use its own words misses its topic."""
    found = review("Wine is old. " * THIN)

    assert (found.action, found.query) == ("SEARCH", "Making bread bread")


def test_a_thin_section_is_searched_for() -> None:
    """Too little text asks for more on the section's question."""
    found = review("The making of bread needs flour.")

    assert (found.action, found.query) == ("SEARCH", "How is bread made?")


def test_nothing_is_criticised_twice() -> None:
    """A critique made before is not made again, so that reviewing comes to an end."""
    wishes = ("More rye!",)
    made: list[SectionReviewerOutput] = []
    for _ in range(4):
        made.append(review("", wishes, tuple(critique.critique for critique in made)))

    assert [critique.action for critique in made] == ["SEARCH", "SEARCH", "SEARCH", "NONE"]


def test_a_very_long_wish_is_cut() -> None:
    """A person may say more than a critique or a query can hold."""
    found = review("", wishes=("rye bread " * 2000,))

    assert (found.action, len(found.critique) <= 4000, len(found.query) <= 1000) == ("SEARCH", True, True)
    assert review(ENOUGH, ("rye bread " * 2000,), (found.critique,)) == NONE


def test_a_prompt_leaves_out_what_there_is_not() -> None:
    """Without wishes and critiques nothing is said of them."""
    prompt = render(asked("Bread."), Evidence())[1].content

    assert "wished" not in prompt and "already made" not in prompt
