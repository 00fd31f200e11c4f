"""Tests of the stance judge's fallback."""

from tenure.roles.base import Evidence
from tenure.roles.retrieval.stance_judge import StanceJudgeInput, fallback
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
