"""Test the comparison of answers with known ones."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="the dependency group evals is not installed")

from inspect_ai.model import ModelName
from inspect_ai.scorer import Scorer, Target
from inspect_ai.solver import TaskState

from evals.answers import Answer, contains_answer
from evals.scorers import (
    CHOICES,
    FACTS,
    INSUFFICIENT,
    SUPPORTING,
    UNKNOWN,
    choice,
    compute_token_f1,
    known_answer,
    known_facts,
    supporting_passages,
    usage,
    verdict,
)

METADATA = {
    SUPPORTING: ["a.md", "b.md"],
    CHOICES: ["8 months", "18 months", INSUFFICIENT],
    FACTS: [{"any": ["8 months", "eight months"], "source": "a.md"}, {"any": ["Émile Zola"], "source": "b.md"}],
}


def judge(scorer: Scorer, target: str | list[str], **answer: Any) -> dict[str, float]:
    """Return the values of a scorer for an answer."""
    state = TaskState(ModelName("none/none"), 1, 1, "Who?", [], metadata=METADATA)
    stored = state.store_as(Answer)
    for name, value in answer.items():
        setattr(stored, name, value)
    score = asyncio.run(scorer(state, Target(target)))
    assert score is not None and isinstance(score.value, dict)
    return score.value


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("It was written by Émile Zola.", "Emile  Zola", True),
        ("The Beatles came.", "beatles", True),
        ("It has 1,280 rooms.", "1280", True),
        ("It has 1,280 rooms.", "280", False),
        ("Stevenson wrote it.", "Steven", False),
        ("Nothing.", "the", False),
    ],
)
def test_answers_are_compared_as_whole_words(text: str, answer: str, expected: bool) -> None:
    """Case, accents, punctuation and articles do not matter; parts of words are no answers."""
    assert contains_answer(text, [answer]) is expected


def test_shared_words_are_weighed_against_all_words() -> None:
    """Two of four words and both known ones give two thirds; no shared word gives nothing."""
    assert compute_token_f1("Émile Zola in Paris", "Emile Zola") == pytest.approx(2 / 3)
    assert compute_token_f1("", "Zola") == compute_token_f1("Hugo", "Zola") == 0.0


def test_the_best_of_several_known_answers_counts() -> None:
    """Other forms of an answer are as good as the first one, and no answer is counted as such."""
    found = judge(known_answer(), ["E. Zola", "Zola"], text="Zola")
    nothing = judge(known_answer(), "Zola")

    assert found == {"exact": 1.0, "f1": 1.0, "contained": 1.0, "answered": 1.0}
    assert set(nothing.values()) == {0.0}


def test_an_unanswerable_question_is_answered_by_no_answer() -> None:
    """Any short answer to a question without a known one is wrong."""
    assert judge(known_answer(), "") == {"exact": 1.0, "f1": 1.0, "contained": 1.0, "answered": 0.0}
    assert judge(known_answer(), "", text="Zola") == {"exact": 0.0, "f1": 0.0, "contained": 0.0, "answered": 1.0}


def test_a_fact_counts_as_cited_only_with_its_source() -> None:
    """One of the wordings of a fact is enough; a sentence that cites another file states it without its source."""
    sentences = [("It took eight months.", ["a.md"]), ("Emile Zola wrote it.", ["a.md"])]

    assert judge(known_facts(), "", sentences=sentences) == {"stated": 1.0, "cited": 0.5}
    assert judge(known_facts(), "", sentences=sentences[1:]) == {"stated": 0.5, "cited": 0.0}


def test_a_verdict_is_the_first_word() -> None:
    """An answer that begins with neither word decides nothing."""
    assert judge(verdict(), "no", text="No, it was delayed.") == {"correct": 1.0, "decided": 1.0}
    assert judge(verdict(), "no", text="Yes.") == {"correct": 0.0, "decided": 1.0}
    assert judge(verdict(), "no", text="It was delayed.") == {"correct": 0.0, "decided": 0.0}
    assert judge(verdict(), UNKNOWN) == {"correct": 1.0, "decided": 0.0}
    assert judge(verdict(), UNKNOWN, text="Yes.") == {"correct": 0.0, "decided": 1.0}


def test_a_choice_is_named_in_the_answer() -> None:
    """The offered words are found as whole ones; an answer without any of them is insufficient information."""
    assert judge(choice(), "18 months", text="For 18 months.") == {"correct": 1.0, "decided": 1.0}
    assert judge(choice(), "8 months", text="18 months") == {"correct": 0.0, "decided": 1.0}
    assert judge(choice(), INSUFFICIENT) == judge(choice(), INSUFFICIENT, text=INSUFFICIENT)
    assert judge(choice(), INSUFFICIENT) == {"correct": 1.0, "decided": 0.0}


def test_cited_passages_are_compared_with_the_supporting_ones() -> None:
    """The short answer and the report are judged apart, and an answer without citations is not precise."""
    values = judge(supporting_passages(), "", cited=["a.md"], report_cited=["a.md", "b.md", "c.md", "d.md"])

    assert values == {"answer_recall": 0.5, "answer_precision": 1.0, "report_recall": 1.0, "report_precision": 0.5}
    assert set(judge(supporting_passages(), "").values()) == {0.0}


def test_money_is_reported_if_it_is_known() -> None:
    """Without a price there is no amount, rather than one of 0."""
    assert judge(usage(), "", cost_usd=0.5)["usd"] == 0.5
    assert "usd" not in judge(usage(), "", tokens=10)
