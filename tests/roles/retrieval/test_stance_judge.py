"""Tests of the stance judge's fallback."""

from tenure.roles.base import Evidence
from tenure.roles.retrieval.stance_judge import (
    JudgedPassage,
    StanceJudgeInput,
    StanceJudgeOutput,
    fallback,
    quote_sides,
)
from tests.support.passages import passage


def test_every_passage_gets_a_side() -> None:
    """Passages are numbered from 1, in their order."""
    texts = ("Rye bread keeps fresh.", "Rye bread never keeps fresh.", "Glaciers are cold.")
    judged = fallback(StanceJudgeInput(position="Rye bread keeps fresh"), Evidence(tuple(map(passage, texts))))

    assert [(stance.passage, stance.side) for stance in judged.stances] == [
        (1, "supporting"),
        (2, "contradicting"),
        (3, "neutral"),
    ]


def test_sides_agree_with_the_check_of_a_claim() -> None:
    """A sentence that states or denies what a question asks to check takes the side of the check's verdict."""
    texts = ("Aspirin must not be combined with salt at night.", "Aspirin may be combined with salt at night.")
    position = "Is it true that aspirin may be combined with salt at night?"
    judged = fallback(StanceJudgeInput(position=position), Evidence(tuple(map(passage, texts))))

    assert [stance.side for stance in judged.stances] == ["contradicting", "supporting"]


def test_the_sentence_that_takes_a_side_is_quoted() -> None:
    """Each side has a verbatim quote at its place; a model's side without a near sentence gets the nearest part."""
    texts = ("Bread is old. Rye bread keeps fresh.", "Rye bread never keeps fresh.", "Glaciers are cold.")
    evidence = Evidence(tuple(passage(text, f"s{n}", 10) for n, text in enumerate(texts)))
    said = [(1, "supporting"), (2, "contradicting"), (3, "supporting"), (1, "neutral"), (9, "neutral")]
    judged = StanceJudgeOutput(
        stances=tuple(JudgedPassage.model_validate({"passage": n, "side": side}) for n, side in said)
    )

    sides = quote_sides(StanceJudgeInput(position="Rye bread keeps fresh"), judged, evidence).stances

    quotes = [side.citation.quote if side.citation else "" for side in sides]
    assert quotes == ["Rye bread keeps fresh.", "Rye bread never keeps fresh.", "Glaciers are cold."]
    assert sides[0].citation is not None and sides[0].citation.start == 10 + len("Bread is old. ")
