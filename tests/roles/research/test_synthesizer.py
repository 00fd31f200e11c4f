"""Tests of the synthesizer's fallback, its prompt within a conversation, and the synthesis built from an answer."""

from typing import Any, get_args

import pytest

from tenure.algorithms.text.excerpts import MAX_SENTENCE_CHARACTERS
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft, SynthesisDraft
from tenure.contracts.messages import Message
from tenure.contracts.research.spiral import Reflection
from tenure.contracts.run.limit_fields import ReportLength
from tenure.roles.base import Evidence
from tenure.roles.prompting import WrittenRow, WrittenSentence
from tenure.roles.research.synthesizer import (
    EXCERPTS_PER_PART,
    MAX_PART_CHARACTERS,
    RESOLUTION_RULE,
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
EMPTY = SynthesizerOutput(situation=(), complication=(), resolution=())


def sentence(text: str, *passages: int) -> WrittenSentence:
    return WrittenSentence(text=text, passages=passages)


def twin(*passages: Any, resolve: bool = True) -> SynthesizerOutput:
    return fallback(SynthesizerInput(question=QUESTION, resolve=resolve), Evidence(passages, encode))


def test_the_fallback_classifies_sentences() -> None:
    """Plain facts are the situation, difficulties the complication, consequences the resolution."""
    assert twin(*PASSAGES) == SynthesizerOutput(
        situation=(sentence(IS, 1),), complication=(sentence(HARD, 2),), resolution=(sentence(FOLLOWS, 3),)
    )


def test_the_fallback_resolves_only_on_request() -> None:
    """Without a request there is no resolution."""
    found = twin(*PASSAGES, resolve=False)

    assert (len(found.situation), len(found.complication), found.resolution) == (1, 1, ())


def test_the_fallback_is_empty_without_usable_passages() -> None:
    """No passages, and passages of fragments, give empty parts."""
    assert twin() == twin(passage("Rye bread"), passage("This is made by bakers of rye bread.", "b")) == EMPTY


def test_unrelated_excerpts_are_omitted() -> None:
    """An excerpt far from the question is in no part."""
    assert twin(passage("The stars have always been far from any other place.")) == EMPTY


def test_excerpts_are_unique_and_limited() -> None:
    """Equal excerpts count once, and a part has a maximum number of them."""
    kinds = "rye, wheat, oats, corn, barley, rice".split(", ")
    many = [passage(f"The bakers have made bread of {kind} and rye.", kind) for kind in kinds]

    assert len(twin(PASSAGES[0], passage(IS, "again")).situation) == 1
    assert 1 <= len(twin(*many).situation) <= EXCERPTS_PER_PART


def test_an_overlong_word_excludes_its_sentence() -> None:
    """A very long word excludes its sentence, not the whole synthesis."""
    monster = passage(f"The bakers have made rye bread of {'x' * 3_000} and water.", "m")

    assert twin(monster, PASSAGES[0]).situation == (sentence(IS, 2),)
    assert MAX_SENTENCE_CHARACTERS < 2_000


def test_long_titles_are_shortened() -> None:
    """If a sentence refers to its document, the title is inserted in shortened form."""
    found = twin(passage("This document has all that bakers of rye bread have made.", "a", title="Rye bread " * 500))

    assert len(found.situation) == 1 and len(found.situation[0].text) < 300


def test_a_synthesis_has_verbatim_quotes() -> None:
    """Numbers become citations, and a part without sentences stays empty."""
    draft = build_synthesis(
        SynthesizerInput(question=QUESTION),
        SynthesizerOutput(situation=(sentence(f" {IS} ", 1),), complication=(), resolution=()),
        Evidence(PASSAGES, encode),
    )

    (claim,) = draft.situation.claims
    assert (claim.text, claim.status, [c.quote for c in claim.citations]) == (IS, "supported", [IS])
    assert draft.complication == draft.resolution == Draft()


def test_the_size_of_a_synthesis_is_limited() -> None:
    """A part contains sentences with their quotes up to the limit; it is empty if the first one exceeds it."""
    passages = tuple(passage("word " * 100 + f"rye {n}.", f"s{n}") for n in range(4))
    long = tuple(sentence(f"{n} {'y' * 1_900}", 1, 2, 3, 4) for n in range(6))
    draft = build_synthesis(
        SynthesizerInput(question=QUESTION),
        SynthesizerOutput(situation=long, complication=(), resolution=()),
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
    reasoning="Rye is missing.",
    key_factors=("rye",),
    reflection=REFLECTION,
    feedback=("More on rye",),
    resolve=True,
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
        "Rye is missing.\n\nMissing:\n- rye",
        "People said:\n- More on rye",
        RESOLUTION_RULE,
    ):
        assert told in user.content


def test_a_later_prompt_starts_with_the_history() -> None:
    """Only new passages are shown, with consecutive numbers; question and synthesis are not repeated."""
    system, *history, user = render(FULL, Evidence(PASSAGES, history=HISTORY))

    assert (system.content, tuple(history)) == (SYSTEM, HISTORY)
    assert user.content.startswith(f'<passage n="3" source="Time">\n{FOLLOWS}')
    for known in (QUESTION, IS, HARD, "<draft>", "Bread is made."):
        assert known not in user.content
    assert RESOLUTION_RULE in user.content and "More on rye" in user.content


def test_empty_parts_are_omitted_from_the_prompt() -> None:
    """Empty parts have no tags."""
    user = render(SynthesizerInput(question=QUESTION), Evidence(PASSAGES))[-1].content

    assert not any(tag in user for tag in ("<draft>", "<reflection>", "<decision>", "<feedback>", RESOLUTION_RULE))
    assert user.endswith("Bring situation and complication up to date.")


def cell(text: str, *passages: int) -> WrittenSentence:
    return WrittenSentence(text=text, passages=passages)


CLOSED = SynthesizerOutput(
    situation=(sentence(IS, 1),),
    complication=(),
    resolution=(WrittenSentence(text="So bake rye.", passages=(1,), kind="inference"),),
    gaps=(WrittenSentence(text="The heat of the oven is not known.", passages=()),),
    gap_queries=("heat of a baker's oven",),
    columns=("Time", "Heat"),
    rows=(
        WrittenRow(label="Rye", cells=(cell("long", 1), cell("low", 1))),
        WrittenRow(label="Wheat", cells=(cell("short", 2), cell("low", 2))),
    ),
)


def test_the_last_turn_closes_the_report() -> None:
    """Recommendations are inferences, gaps need no passage, and the comparison is a table of differences."""
    made = build_synthesis(SynthesizerInput(question=QUESTION, resolve=True), CLOSED, Evidence(PASSAGES, encode))

    assert [(claim.kind, len(claim.citations)) for claim in made.resolution.claims] == [("inference", 1)]
    assert [(claim.kind, claim.citations) for claim in made.gaps.claims] == [("gap", ())]
    assert made.gap_queries == ("heat of a baker's oven",)
    table, shared = made.comparison.blocks
    assert [claim.statement for claim in table.claims] == ["Rye – Time: long", "Wheat – Time: short"]
    assert [claim.statement for claim in shared.claims] == ["Heat (Rye, Wheat): low"]


def test_several_recommendations_are_a_list() -> None:
    """The answer is a paragraph, and recommendations after it are a list; mixed sentences are a paragraph."""
    fact = WrittenSentence(text="Rye it is.", passages=(1,))
    advice = WrittenSentence(text="So bake.", passages=(1,), kind="inference")

    def kinds(*said: WrittenSentence) -> list[str]:
        output = CLOSED.model_copy(update={"resolution": said})
        made = build_synthesis(SynthesizerInput(question=QUESTION, resolve=True), output, Evidence(PASSAGES, encode))
        return [block.kind for block in made.resolution.blocks]

    assert kinds(fact, advice, advice) == ["paragraph", "bullets"]
    assert kinds(advice, advice) == ["bullets"]
    assert kinds(advice, fact, advice) == kinds(fact, advice) == ["paragraph"]


def test_earlier_turns_have_no_closing_parts() -> None:
    """Early conclusions of a model are left out, and a comparison needs columns and rows."""
    early = build_synthesis(SynthesizerInput(question=QUESTION), CLOSED, Evidence(PASSAGES, encode))
    bare = build_synthesis(
        SynthesizerInput(question=QUESTION, resolve=True),
        CLOSED.model_copy(update={"rows": ()}),
        Evidence(PASSAGES, encode),
    )

    assert early.resolution == early.gaps == early.comparison == bare.comparison == Draft()
    assert early.gap_queries == ()


def test_the_cells_of_a_very_large_table_keep_one_quote() -> None:
    """A comparison with many long quotes has one for each cell."""
    passages = tuple(passage(("word " * 100 + "x. ") * 2, f"s{n}") for n in range(8))
    rows = tuple(
        WrittenRow(label=f"R{n}", cells=tuple(cell(f"v{n}{m}", *range(1, 9)) for m in range(6))) for n in range(8)
    )
    output = CLOSED.model_copy(update={"columns": tuple("abcdef"), "rows": rows})

    made = build_synthesis(SynthesizerInput(question=QUESTION, resolve=True), output, Evidence(passages, encode))

    assert {len(claim.citations) for claim in made.comparison.claims} == {1}


@pytest.mark.parametrize("length", get_args(ReportLength))
def test_the_last_prompt_names_the_length_of_the_end(length: ReportLength) -> None:
    """The length of the report is part of the last prompt only."""
    last = render(SynthesizerInput(question=QUESTION, resolve=True, length=length), Evidence(PASSAGES, encode))
    early = render(SynthesizerInput(question=QUESTION, length=length), Evidence(PASSAGES, encode))

    assert ("Length:" in last[-1].content) == (length != "standard")
    assert "Length:" not in early[-1].content
