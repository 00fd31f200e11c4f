"""Test the judgements of the benchmark of answers."""

import json
from pathlib import Path

import pytest

from benchmarks.answers import AnsweredQuestion, abstains, contains_answer, judge_report, load_questions
from benchmarks.support.datasets import Question, collection
from tenure.contracts.result.result import EvaluatedPart, Evaluation
from tests.report.samples import full

RESULT = full()
NAMED = {Path(source.uri).name: f"key {source.n}" for source in RESULT.sources}


def ask(answer: str, *gold: str) -> AnsweredQuestion:
    """Return a question whose supporting passages have these keys."""
    return AnsweredQuestion(Question("Why?", dict.fromkeys(gold, 1.0)), (answer,), ())


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


def test_a_report_is_judged_by_its_supporting_passages() -> None:
    """Cited supporting passages and sentences from them are counted, and places of the answer are cumulative."""
    word = RESULT.sections[0].claims[0].text.split()[-1].strip(".")
    found = judge_report(RESULT, ask(word, "key 1", "a passage that is not cited"), NAMED)

    assert found["gold_cited"] == 0.5
    assert 0 < found["precision"] <= 1
    assert found["or_abstract"] <= found["or_first_section"] == found["anywhere"] == 1.0
    assert judge_report(RESULT, ask("yes", "key 1"), NAMED)["anywhere"] == 0.0


def test_an_abstention_names_what_is_missing() -> None:
    """A report abstains if it gives no short answer and says that a part is not answered, or has no evidence."""
    silent = RESULT.model_copy(update={"short_answer": None, "evaluation": None})
    missing = Evaluation(parts=(EvaluatedPart(part="Why?", answered="no"),))

    assert not abstains(silent)
    assert abstains(silent.model_copy(update={"evaluation": missing}))
    assert abstains(silent.model_copy(update={"status": "no_evidence"}))


def test_questions_have_their_answers_and_distractors(tmp_path: Path) -> None:
    """Other forms of an answer count, and the passages that do not support it are the distractors."""
    file = tmp_path / "questions.jsonl"
    paragraphs = [
        {"title": "A", "text": "Ada wrote it.", "is_supporting": True},
        {"title": "B", "text": "It rains.", "is_supporting": False},
    ]
    row = {"question": "Who wrote it?", "answer": "Ada", "answer_aliases": ["A. L."], "paragraphs": paragraphs}
    file.write_text(json.dumps(row) + "\n")
    (asked,) = load_questions(file, collection(file))

    assert asked.answers == ("Ada", "A. L.")
    assert asked.distractors == ("B\nIt rains.",)
    assert list(asked.question.grades) == ["A\nAda wrote it."]
