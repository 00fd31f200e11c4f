"""The synthesizer's twin, its prompt within a conversation, and the synthesis made of an answer."""

from typing import Any

from tenure.algorithms.text.excerpts import MAX_SENTENCE
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft, SynthesisDraft
from tenure.contracts.research.spiral import Reflection
from tenure.roles.base import Evidence, Message
from tenure.roles.prompting import WrittenSentence
from tenure.roles.research.synthesizer import (
    MAX_PART,
    RESOLVE,
    SENTENCES,
    SYSTEM,
    SynthesizerInput,
    SynthesizerOutput,
    as_text,
    offline,
    render,
    synthesized,
)
from tests.passages import passage
from tests.worlds import encode

QUESTION = "How is rye bread made by bakers?"
IS = "The bakers have made rye bread of flour and water."
HARD = "The rye bread of the bakers fails without a warm oven, however."
FOLLOWS = "The bakers should let the dough of rye bread rise for hours."
PASSAGES = (
    passage(IS, "a", title="Rye"),
    passage(HARD, "b", title="Ovens"),
    passage(FOLLOWS, "c", title="Time"),
)
EMPTY = SynthesizerOutput(situation=(), complication=(), resolution=())


def sentence(text: str, *passages: int) -> WrittenSentence:
    return WrittenSentence(text=text, passages=passages)


def twin(*passages: Any, resolve: bool = True) -> SynthesizerOutput:
    return offline(SynthesizerInput(question=QUESTION, resolve=resolve), Evidence(passages, encode))


def test_the_twin_sorts_by_what_sentences_say() -> None:
    """Plain facts are the situation, difficulties the complication, consequences the resolution."""
    assert twin(*PASSAGES) == SynthesizerOutput(
        situation=(sentence(IS, 1),), complication=(sentence(HARD, 2),), resolution=(sentence(FOLLOWS, 3),)
    )


def test_the_twin_resolves_nothing_before_the_end() -> None:
    """Until it is asked for there is no resolution."""
    found = twin(*PASSAGES, resolve=False)

    assert (len(found.situation), len(found.complication), found.resolution) == (1, 1, ())


def test_the_twin_says_nothing_where_nothing_is_fit_to_say() -> None:
    """No passages, and passages of fragments, leave all parts empty."""
    assert twin() == twin(passage("Rye bread"), passage("This is made by bakers of rye bread.", "b")) == EMPTY


def test_the_twin_leaves_out_what_is_not_about_the_question() -> None:
    """An excerpt far from the question is in no part."""
    assert twin(passage("The stars have always been far from any other place.")) == EMPTY


def test_the_twin_says_nothing_twice_and_not_too_much() -> None:
    """Equal excerpts count once, and a part has few of them."""
    kinds = "rye, wheat, oats, corn, barley, rice".split(", ")
    many = [passage(f"The bakers have made bread of {kind} and rye.", kind) for kind in kinds]

    assert len(twin(PASSAGES[0], passage(IS, "again")).situation) == 1
    assert 1 <= len(twin(*many).situation) <= SENTENCES


def test_the_twin_stands_no_sentence_that_is_too_long() -> None:
    """A word as long as a data line makes its sentence unfit, not the whole synthesis."""
    monster = passage(f"The bakers have made rye bread of {'x' * 3_000} and water.", "m")

    assert twin(monster, PASSAGES[0]).situation == (sentence(IS, 2),)
    assert MAX_SENTENCE < 2_000


def test_a_document_with_a_long_title_is_named_in_few_words() -> None:
    """Where a sentence speaks of its document, the title stands there cut to size."""
    found = twin(passage("This document has all that bakers of rye bread have made.", "a", title="Rye bread " * 500))

    assert len(found.situation) == 1 and len(found.situation[0].text) < 300


def test_an_answer_becomes_a_synthesis_with_verbatim_quotes() -> None:
    """Numbers become citations, and a part without sentences stays empty."""
    draft = synthesized(
        SynthesizerOutput(situation=(sentence(f" {IS} ", 1),), complication=(), resolution=()), PASSAGES
    )

    (claim,) = draft.situation.claims
    assert (claim.text, claim.status, [c.quote for c in claim.citations]) == (IS, "supported", [IS])
    assert draft.complication == draft.resolution == Draft()


def test_a_synthesis_stays_small() -> None:
    """A part takes sentences with their quotes as long as there is room, and is none if already the first has none."""
    passages = tuple(passage("word " * 100 + f"rye {n}.", f"s{n}") for n in range(4))
    long = tuple(sentence(f"{n} {'y' * 1_900}", 1, 2, 3, 4) for n in range(12))
    draft = synthesized(SynthesizerOutput(situation=long, complication=(), resolution=()), passages)

    assert 1 <= len(draft.situation.claims) < 12
    assert sum(len(claim.model_dump_json()) for claim in draft.situation.claims) <= MAX_PART


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


def test_a_synthesis_is_shown_with_the_numbers_of_its_passages() -> None:
    """Parts are named, sentences marked where passages are given, empty parts left out."""
    assert as_text(SO_FAR, PASSAGES) == (
        "Situation: Bread is made. [2] Nobody knows.\n\nComplication: It takes time. [1]"
    )
    assert as_text(SO_FAR) == "Situation: Bread is made. Nobody knows.\n\nComplication: It takes time."
    assert as_text(SynthesisDraft()) == ""


FULL = SynthesizerInput(
    question=QUESTION,
    known=2,
    so_far=SO_FAR,
    reasoning="Rye is missing.",
    key_factors=("rye",),
    reflection=REFLECTION,
    feedback=("More on rye",),
    resolve=True,
)
HISTORY = (Message(role="user", content="What was said."), Message(role="assistant", content="{}"))


def test_the_first_prompt_says_everything() -> None:
    """Without a history all passages are shown, whatever was known, and so is the synthesis so far."""
    system, user = render(FULL, Evidence(PASSAGES))

    assert (system.content, user.content.count("<passage n=")) == (SYSTEM, 3)
    for told in (
        QUESTION,
        "<draft>\nSituation: Bread is made. [2]",
        "Quality: shallow. Only facts.\n\nMissing:\n- why\n\nDoes not follow:\n- a leap\n\nSuggested:\n- say why",
        "Rye is missing.\n\nMissing:\n- rye",
        "People said:\n- More on rye",
        RESOLVE,
    ):
        assert told in user.content


def test_a_later_prompt_begins_with_the_history_and_repeats_nothing() -> None:
    """Only new passages are shown, under numbers that go on; question and synthesis are known."""
    system, *history, user = render(FULL, Evidence(PASSAGES, history=HISTORY))

    assert (system.content, tuple(history)) == (SYSTEM, HISTORY)
    assert user.content.startswith(f'<passage n="3" source="Time">\n{FOLLOWS}')
    for known in (QUESTION, IS, HARD, "<draft>", "Bread is made."):
        assert known not in user.content
    assert RESOLVE in user.content and "More on rye" in user.content


def test_a_prompt_leaves_out_what_there_is_not() -> None:
    """Parts without content have no tags."""
    user = render(SynthesizerInput(question=QUESTION), Evidence(PASSAGES))[-1].content

    assert not any(tag in user for tag in ("<draft>", "<reflection>", "<decision>", "<feedback>", RESOLVE))
    assert user.endswith("Bring situation and complication up to date.")
