"""Tests of the synthesizer's prompt within a conversation, and of the synthesis built from an answer."""

from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft, SynthesisDraft
from tenure.contracts.messages import Message
from tenure.contracts.research.spiral import Reflection
from tenure.roles.base import Evidence
from tenure.roles.prompting import WrittenSentence
from tenure.roles.research.synthesizer import (
    MAX_PART_CHARACTERS,
    SYSTEM,
    SynthesizerInput,
    SynthesizerOutput,
    build_synthesis,
    fallback,
    render,
    render_synthesis,
)
from tests.support.passages import passage
from tests.support.worlds import encode

QUESTION = "How is rye bread made by bakers?"
IS = "The bakers have made rye bread of flour and water."
HARD = "The rye bread of the bakers fails without a warm oven, however."
FOLLOWS = "The bakers should let the dough of rye bread rise for hours."
PASSAGES = (
    passage(IS, "a", title="Rye"),
    passage(HARD, "b", title="Ovens"),
    passage(FOLLOWS, "c", title="Time"),
)


def sentence(text: str, *passages: int) -> WrittenSentence:
    return WrittenSentence(text=text, passages=passages)


def test_nothing_is_synthesized_without_a_model() -> None:
    """Sentences taken out of their places are no synthesis, so the fallback gives none."""
    found = fallback(SynthesizerInput(question=QUESTION), Evidence(PASSAGES, encode))

    assert found == SynthesizerOutput(situation=(), complication=())


def test_a_synthesis_has_verbatim_quotes() -> None:
    """Numbers become citations, and a part without sentences stays empty."""
    draft = build_synthesis(
        SynthesizerInput(question=QUESTION),
        SynthesizerOutput(situation=(sentence(f" {IS} ", 1),), complication=()),
        Evidence(PASSAGES, encode),
    )

    (claim,) = draft.situation.claims
    assert (claim.text, claim.status, [c.quote for c in claim.citations]) == (IS, "supported", [IS])
    assert draft.complication == draft.resolution == draft.gaps == draft.comparison == Draft()


def test_the_size_of_a_synthesis_is_limited() -> None:
    """A part contains sentences with their quotes up to the limit; it is empty if the first one exceeds it."""
    passages = tuple(passage("word " * 100 + f"rye {n}.", f"s{n}") for n in range(4))
    long = tuple(sentence(f"{n} {'y' * 1_900}", 1, 2, 3, 4) for n in range(6))
    draft = build_synthesis(
        SynthesizerInput(question=QUESTION),
        SynthesizerOutput(situation=long, complication=()),
        Evidence(passages, encode),
    )

    assert 1 <= len(draft.situation.claims) < 6
    assert sum(len(claim.model_dump_json()) for claim in draft.situation.claims) <= MAX_PART_CHARACTERS


def cited(text: str, position: int) -> Claim:
    source = PASSAGES[position]
    return Claim(
        text=text, citations=(Citation(source=source.source, chunk=source.chunk, start=0, end=3, quote="The"),)
    )


SO_FAR = SynthesisDraft(
    situation=Draft(blocks=(Block(claims=(cited("Bread is made.", 1), Claim(text="Nobody knows."))),)),
    complication=Draft(blocks=(Block(claims=(cited("It takes time.", 0),)),)),
)
REFLECTION = Reflection(
    overall_quality="shallow",
    depth_assessment="Only facts.",
    missing_core_insights=("why",),
    logic_issues=("a leap",),
    improvement_suggestions=("say why",),
)


def test_a_synthesis_is_rendered_with_passage_numbers() -> None:
    """Parts are named, sentences marked with the given passages, empty parts omitted."""
    assert render_synthesis(SO_FAR, PASSAGES) == (
        "Situation: Bread is made. [2] Nobody knows.\n\nComplication: It takes time. [1]"
    )
    assert render_synthesis(SO_FAR) == "Situation: Bread is made. Nobody knows.\n\nComplication: It takes time."
    assert render_synthesis(SynthesisDraft()) == ""


FULL = SynthesizerInput(
    question=QUESTION,
    shown_passages=2,
    synthesis=SO_FAR,
    reflection=REFLECTION,
    feedback=("More on rye",),
    preferences=("Metric units",),
)
HISTORY = (Message(role="user", content="What was said."), Message(role="assistant", content="{}"))


def test_the_first_prompt_is_complete() -> None:
    """Without a history the prompt contains all passages and the synthesis."""
    system, user = render(FULL, Evidence(PASSAGES))

    assert (system.content, user.content.count("<passage n=")) == (SYSTEM, 3)
    for told in (
        QUESTION,
        "<draft>\nSituation: Bread is made. [2]",
        "Quality: shallow. Only facts.\n\nMissing:\n- why\n\nDoes not follow:\n- a leap\n\nSuggested:\n- say why",
        "People said:\n- More on rye",
        "Metric units",
    ):
        assert told in user.content


def test_a_later_prompt_starts_with_the_history() -> None:
    """Only new passages are shown, with consecutive numbers; question and synthesis are not repeated."""
    system, *history, user = render(FULL, Evidence(PASSAGES, history=HISTORY))

    assert (system.content, tuple(history)) == (SYSTEM, HISTORY)
    assert user.content.startswith(f'<passage n="3" source="Time">\n{FOLLOWS}')
    for known in (QUESTION, IS, HARD, "<draft>", "Bread is made.", "Metric units"):
        assert known not in user.content
    assert "More on rye" in user.content


def test_empty_parts_are_omitted_from_the_prompt() -> None:
    """Empty parts have no tags."""
    user = render(SynthesizerInput(question=QUESTION), Evidence(PASSAGES))[-1].content

    assert not any(tag in user for tag in ("<draft>", "<reflection>", "<feedback>"))
    assert user.endswith("Bring situation and complication up to date.")
