"""Tests of the quotes of the stance judge."""

from tenure.roles.base import Evidence
from tenure.roles.retrieval.stance_judge import (
    JudgedPassage,
    StanceJudgeInput,
    StanceJudgeOutput,
    quote_sides,
)
from tests.support.passages import passage


def test_the_sentence_nearest_to_a_position_is_quoted() -> None:
    """Each side has a verbatim quote at its place, which is not the question alone."""
    texts = ("Does rye bread keep fresh? Rye bread stays fresh.", "Rye bread never keeps fresh.", "Glaciers are cold.")
    evidence = Evidence(tuple(passage(text, f"s{n}", 10) for n, text in enumerate(texts)))
    said = [(1, "supporting"), (2, "contradicting"), (3, "supporting"), (1, "neutral"), (9, "neutral")]
    judged = StanceJudgeOutput(
        stances=tuple(JudgedPassage.model_validate({"passage": n, "side": side}) for n, side in said)
    )

    sides = quote_sides(StanceJudgeInput(position="Does rye bread keep fresh?"), judged, evidence).stances

    quotes = [side.citation.quote if side.citation else "" for side in sides]
    assert quotes == [texts[0], "Rye bread never keeps fresh.", "Glaciers are cold."]
    assert sides[0].citation is not None and sides[0].citation.start == 10


def test_the_words_that_the_judge_names_are_quoted() -> None:
    """The quote is the sentence of the passage that is nearest to the named words, not to the position."""
    evidence = Evidence((passage("Rye bread is a bread. Its crumb holds water for days.", "s0", 0),))
    named = JudgedPassage(passage=1, side="supporting", words="Its crumb holds the water for days")
    judged = StanceJudgeOutput(stances=(named,))

    (side,) = quote_sides(StanceJudgeInput(position="Does rye bread keep fresh?"), judged, evidence).stances

    assert side.citation is not None and side.citation.quote == "Its crumb holds water for days."
