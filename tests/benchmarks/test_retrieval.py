"""The benchmark of retrieval: the formats it reads, and its measures."""

import json
import math
from pathlib import Path

import pytest

from benchmarks.retrieval import figures, ndcg, recall
from benchmarks.support.datasets import Document, Question, UnknownFormat, collection, load_questions


def _lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_beir_folder_is_read(tmp_path: Path) -> None:
    """Questions without a relevant document are left out, and so are grades of 0."""
    _lines(tmp_path / "corpus.jsonl", {"_id": "1", "title": "T", "text": "x"}, {"_id": "2", "text": "y"})
    _lines(tmp_path / "queries.jsonl", {"_id": "a", "text": "?"}, {"_id": "b", "text": "!"})
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\na\t1\t2\na\t2\t0\nb\t2\t0\n")
    read = collection(tmp_path)

    assert {"1": Document("T", "x"), "2": Document("", "y")} == read.documents
    assert (Question("?", {"1": 2.0}),) == read.questions


def test_a_hotpotqa_file_is_read(tmp_path: Path) -> None:
    """Paragraphs are pooled over the questions, and those with supporting facts are relevant."""
    first = {"title": "A", "sentences": ["One.", " Two."]}
    row = {"question": "?", "paragraphs": [first, {"title": "B", "sentences": ["x"]}], "supporting_facts": [["A", 0]]}
    read = collection(_lines(tmp_path / "hotpot.jsonl", row, row))

    assert [Document("A", "One. Two."), Document("B", "x")] == list(read.documents.values())
    assert len(read.questions) == 2
    assert read.questions[0].grades == {"A\nOne. Two.": 1.0}


@pytest.mark.parametrize("sentences", [["One.", " Two."], ["One.", "Two."]], ids=["HotpotQA", "2WikiMultihopQA"])
def test_the_original_forms_are_read(tmp_path: Path, sentences: list[str]) -> None:
    """An array of questions with pairs of a title and sentences is read, whichever sentence has the blank."""
    file = tmp_path / "original.json"
    context = [["A", sentences], ["B", ["x"]]]
    row = {"question": "?", "answer": "Two", "context": context, "supporting_facts": [["A", 0]]}
    file.write_text(json.dumps([row]))
    read = collection(file)

    (asked,) = load_questions(file, read)
    assert asked.question.grades == {"A\nOne. Two.": 1.0}
    assert (asked.answers, asked.distractors) == (("Two",), ("B\nx",))


def test_other_forms_of_an_answer_count(tmp_path: Path) -> None:
    """A question has its answer with the aliases, and the paragraphs that do not support it are the distractors."""
    paragraphs = [
        {"title": "A", "paragraph_text": "Ada wrote it.", "is_supporting": True},
        {"title": "B", "paragraph_text": "It rains.", "is_supporting": False},
    ]
    row = {"question": "Who wrote it?", "answer": "Ada", "answer_aliases": ["A. L."], "paragraphs": paragraphs}
    file = _lines(tmp_path / "musique.jsonl", row)
    (asked,) = load_questions(file, collection(file))

    assert (asked.answers, asked.distractors) == (("Ada", "A. L."), ("B\nIt rains.",))


def test_a_musique_file_is_read(tmp_path: Path) -> None:
    """A paragraph says itself whether it supports the answer."""
    paragraphs = [{"title": t, "text": t, "is_supporting": t == "A"} for t in "AB"]
    read = collection(_lines(tmp_path / "musique.jsonl", {"question": "?", "paragraphs": paragraphs}))

    assert {"A\nA"} == read.questions[0].grades.keys()


def test_anything_else_is_refused(tmp_path: Path) -> None:
    """A path without a known format is named in the error."""
    for path in (_lines(tmp_path / "else.jsonl", {"a": 1}), tmp_path / "missing.jsonl"):
        with pytest.raises(UnknownFormat, match=path.name):
            collection(path)


def test_measures_mean_what_they_are_called() -> None:
    """Gain is discounted by rank and divided by the best possible; recall is a share of what is relevant."""
    grades = {"a": 2.0, "b": 1.0}

    assert ndcg(["a", "b", "c"], grades) == 1
    assert ndcg(["c", "a"], grades) == pytest.approx((2 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert (recall(["a", "c", "b"], grades, 2), recall(["a", "c", "b"], grades, 5)) == (0.5, 1.0)
    assert figures([["a", "b"], ["c"]], [Question("?", grades)] * 2).all_5 == 50
