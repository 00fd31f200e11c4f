"""Test the judgements of the benchmark of answers."""

import json
from pathlib import Path

import pytest

from benchmarks.answers import AnsweredQuestion, abstains, contains_answer, judge_report, load_questions
from benchmarks.support.datasets import Question, collection
from tenure.contracts.result.result import Result, ResultClaim, ResultSection
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


def brief(*claims: ResultClaim) -> Result:
    """Return a report with one section of these claims and no short answer."""
    section = ResultSection(topic="Why?", markdown="", claims=claims)
    return RESULT.model_copy(update={"short_answer": None, "sections": (section,)})


def excerpt(text: str) -> ResultClaim:
    """Return an excerpt of a sentence of the first source."""
    cited = next(claim for section in RESULT.sections for claim in section.claims if claim.citations)
    return cited.model_copy(update={"text": text, "begins": "excerpt", "part": "paragraph"})


def test_a_report_is_judged_by_its_supporting_passages() -> None:
    """Shown supporting passages and excerpts from them are counted, and an answer after 200 words is not at the top."""
    shown = excerpt("It is tall. " * 100 + "Zola wrote it.")
    (number,) = {citation.source for citation in shown.citations}
    found = judge_report(brief(shown), ask("Zola", f"key {number}", "a passage that is not shown"), NAMED)

    assert (found["gold_shown"], found["precision"], found["excerpts"]) == (0.5, 1.0, 1.0)
    assert (found["first_words"], found["anywhere"]) == (0.0, 1.0)
    assert judge_report(brief(excerpt("Yes.")), ask("yes", f"key {number}"), NAMED)["anywhere"] == 0.0


def test_an_abstention_says_that_nothing_is_certain() -> None:
    """A report abstains if it gives no short answer and says in every part that none is certain, or has no evidence."""
    gap = ResultClaim(text="Nothing answers this.", kind="gap", status="unverified")

    assert abstains(brief(gap, excerpt("Bread.")))
    assert not abstains(brief(excerpt("Bread.")))
    assert not abstains(brief(gap).model_copy(update={"short_answer": excerpt("1848")}))
    assert abstains(brief(excerpt("Bread.")).model_copy(update={"status": "no_evidence"}))


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
