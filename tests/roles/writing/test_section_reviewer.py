"""Tests of the section reviewer's prompt and fallback."""

from dataclasses import replace

from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.messages import Message
from tenure.contracts.research.report import SectionReview
from tenure.roles.base import Evidence
from tenure.roles.section_edits import MAX_CRITIQUE_CHARACTERS, MAX_QUERY_CHARACTERS, SectionReviewerOutput
from tenure.roles.writing import section_writer
from tenure.roles.writing.section_reviewer import (
    AGAIN_RULE,
    LAST_SEARCH_RULE,
    MIN_SECTION_WORDS,
    REVIEW_RULE,
    ROLE,
    SectionReviewerInput,
    fallback,
    render,
)
from tests.roles.cases import DRAFT, EVIDENCE, MADE, QUESTION, RISES, quoted
from tests.support.worlds import encode

NONE = SectionReviewerOutput(searches_freely=True, is_judged=False)
ENOUGH = "The making of bread needs flour. " * MIN_SECTION_WORDS
ON_BREAD = SectionReviewerInput(
    question=QUESTION, topic="Making bread", topic_question="How is bread made?", draft=Draft()
)


def review(text: str, wishes: tuple[str, ...] = (), earlier: tuple[str, ...] = ()) -> SectionReviewerOutput:
    claims = (Claim(text=text, kind="lead_in"),) if text else ()
    draft = Draft(blocks=(Block(claims=claims),))
    update = {"question": "How is bread made?", "draft": draft, "feedback": wishes, "earlier_critiques": earlier}
    return fallback(ON_BREAD.model_copy(update=update), Evidence())


def compose(**update: object) -> SectionReview:
    given = ON_BREAD.model_copy(update={"requests": ("More.",), **update})
    return ROLE.postprocess(given, fallback(given, EVIDENCE), EVIDENCE)


def test_a_complete_section_needs_no_action() -> None:
    """A section without gaps gets no critique, no query and no edit."""
    assert review(ENOUGH, wishes=("More flour!",)) == NONE


def test_unanswered_feedback_is_searched_for() -> None:
    """Feedback comes first and is the query, unchanged."""
    found = review("", wishes=("More flour!", "Say more on rye"))

    assert found.query == "More flour!" and "More flour!" in found.critique


def test_missing_terms_of_the_topic_are_searched_for() -> None:
    """A section without its own terms is incomplete."""
    assert review("Wine is old. " * MIN_SECTION_WORDS).query == "Making bread bread"


def test_a_short_section_is_searched_for() -> None:
    """Too little text gives a search for the section's question."""
    assert review("The making of bread needs flour.").query == "How is bread made?"


def test_no_critique_is_repeated() -> None:
    """Earlier critiques are not repeated, so that the reviews end."""
    wishes = ("More rye!",)
    made: list[SectionReviewerOutput] = []
    for _ in range(4):
        made.append(review("", wishes, tuple(critique.critique for critique in made)))

    assert [bool(critique.query) for critique in made] == [True, True, True, False]


def test_long_feedback_is_shortened() -> None:
    """Feedback beyond the maximum length of a critique or a query is shortened."""
    found = review("", wishes=("rye bread " * 2000,))

    assert 0 < len(found.critique) <= MAX_CRITIQUE_CHARACTERS and 0 < len(found.query) <= MAX_QUERY_CHARACTERS
    assert review(ENOUGH, ("rye bread " * 2000,), (found.critique,)) == NONE


def test_claims_stay_unchecked_without_a_model() -> None:
    """Rules judge no sentence of a section as supported because they have no verdict on it."""
    claims = tuple(Claim(text=text, citations=(quoted(0, RISES),)) for text in ("Dough rises for days.", MADE) * 15)
    given = ON_BREAD.model_copy(update={"draft": Draft(blocks=(Block(claims=claims),))})
    reply = ROLE.postprocess(given, fallback(given, EVIDENCE), EVIDENCE)

    assert reply.draft.claims == claims and not reply.removed


def test_a_section_is_composed_again_after_a_request() -> None:
    """With requests or new passages the fallback composes the text from all evidence, whatever the draft."""
    assert MADE in compose().draft.text and MADE in compose(requests=(), query="bread").draft.text
    assert compose().searches_freely


def test_sentences_of_other_sections_are_not_repeated() -> None:
    """The composition omits sentences that the digest of another section contains."""
    assert MADE not in compose(other_sections=(f"Cheese\n{MADE}",)).draft.text


def test_feedback_is_included_in_the_composition() -> None:
    """Text on the feedback is part of the composed section."""
    text = compose(feedback=("rye bread with a sourdough",)).draft.text

    assert "Rye bread is made with a sourdough that is days old." in text


def test_a_text_that_cannot_be_composed_stays() -> None:
    """Without a fitting passage the draft stays as it is."""
    given = ON_BREAD.model_copy(update={"requests": ("More.",), "draft": Draft(blocks=DRAFT.blocks[:1])})
    reply = ROLE.postprocess(given, fallback(given, Evidence(encode=encode)), Evidence(encode=encode))

    assert reply.draft == given.draft


def test_a_review_without_history_shows_everything() -> None:
    """Without a conversation the prompt contains passages, brief and the whole sentences."""
    (system, user) = render(ON_BREAD.model_copy(update={"draft": DRAFT}), EVIDENCE)

    assert system.content == section_writer.SYSTEM
    assert user.content.count("<passage n=") == 3 and f"1. {MADE} [1]" in user.content
    assert REVIEW_RULE in user.content and LAST_SEARCH_RULE not in user.content
    assert "<critiques>" not in user.content and "<gist>" not in user.content


def test_a_review_continues_the_conversation_of_the_writer() -> None:
    """The earlier messages are repeated exactly; passages, brief, rule and known sentences are not."""
    long = f"{RISES} {RISES} {RISES}"
    draft = Draft(blocks=(Block(claims=(Claim(text=long), Claim(text=f"New: {long}"))),))
    history = (Message(role="user", content="Write."), Message(role="assistant", content=f'"{long}" {REVIEW_RULE}'))
    given = ON_BREAD.model_copy(update={"draft": draft, "shown_passages": 2, "may_search": False})
    messages = render(given, replace(EVIDENCE, history=history))

    last = messages[-1].content
    assert tuple(messages[1:-1]) == history
    assert last.count("<passage n=") == 1 and '<passage n="3"' in last and QUESTION not in last
    assert long not in last.replace(f"New: {long}", "") and f"New: {long}" in last
    assert AGAIN_RULE in last and REVIEW_RULE not in last and LAST_SEARCH_RULE in last


def test_doubtful_sentences_are_remarked() -> None:
    """A sentence is shown with its kind, with details that its passages lack, and with an earlier verdict."""
    claims = (
        Claim(text="It rises for 45 minutes.", citations=(quoted(0, RISES),)),
        Claim(text="So wait.", kind="inference", status="neutral", citations=(quoted(0, RISES),)),
        Claim(text="The passages do not name an oven.", kind="gap"),
        Claim(text="It rises.", status="invalid_source"),
    )
    draft = Draft(blocks=(Block(claims=claims),))
    prompt = render(ON_BREAD.model_copy(update={"draft": draft}), EVIDENCE)[1].content

    assert "1. It rises for 45 minutes. [1] (not found there: 45)" in prompt
    assert "2. So wait. [1] (an inference; not confirmed)" in prompt
    assert "3. The passages do not name an oven.  (a gap)" in prompt
    assert "4. It rises.  (names no passage)" in prompt
