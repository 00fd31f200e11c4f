"""Reads judged collections: a BEIR folder, or a HotpotQA, 2WikiMultihopQA or MuSiQue file of JSON objects.

Passages of a multi-hop file are pooled over its questions: the passages that come with one question are
searched for another's as well. A passage's identity there is its title and text.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class UnknownFormat(Exception):
    """A path holds no judged collection of a known format."""


@dataclass(frozen=True)
class Document:
    """A document of a collection."""

    title: str
    """Its title, possibly empty."""
    text: str
    """Its text."""


@dataclass(frozen=True)
class Question:
    """A question, and what is known to answer it."""

    text: str
    """The question."""
    grades: dict[str, float]
    """Relevance grades of documents by id; missing documents are irrelevant."""


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with its known answer."""

    question: Question
    """The question, whose judgements name the supporting passages."""
    answers: tuple[str, ...]
    """The answer and its other forms."""
    distractors: tuple[str, ...]
    """Passages that come with the question and do not support the answer."""


@dataclass(frozen=True)
class Collection:
    """Documents, and questions with judgements."""

    name: str
    """Name of the file or folder."""
    documents: dict[str, Document]
    """The documents by id."""
    questions: tuple[Question, ...]
    """The questions that have a relevant document, in the order of the file."""


def collection(path: Path) -> Collection:
    """Read a judged collection.

    Raises:
        UnknownFormat: the path holds none of a known format.
    """
    if (path / "corpus.jsonl").is_file():
        return _beir(path)
    try:
        return _multi_hop(path.stem, list(rows(path)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnknownFormat(f"{path} is neither a BEIR folder nor a HotpotQA or MuSiQue file: {error!r}") from error


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file, one a line or in one array."""
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("["):
        yield from json.loads(text)
    else:
        yield from (json.loads(line) for line in text.split("\n") if line.strip())


def _beir(folder: Path) -> Collection:
    grades: dict[str, dict[str, float]] = {}
    for file in sorted((folder / "qrels").glob("*.tsv")):
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            query, document, grade = line.split("\t")
            if float(grade) > 0:
                grades.setdefault(query, {})[document] = float(grade)
    questions = (Question(row["text"], grades.get(str(row["_id"]), {})) for row in rows(folder / "queries.jsonl"))
    return Collection(
        name=folder.name,
        documents={
            str(row["_id"]): Document(row.get("title") or "", row["text"]) for row in rows(folder / "corpus.jsonl")
        },
        questions=tuple(question for question in questions if question.grades),
    )


def _multi_hop(name: str, asked: list[dict[str, Any]]) -> Collection:
    documents: dict[str, Document] = {}
    questions = []
    for row in asked:
        supporting = {title for title, _ in row.get("supporting_facts", ())}
        grades = {}
        for paragraph in list_paragraphs(row):
            document = Document(paragraph["title"], _text(paragraph))
            documents[key(paragraph)] = document
            if paragraph.get("is_supporting", document.title in supporting):
                grades[key(paragraph)] = 1.0
        questions.append(Question(row["question"], grades))
    return Collection(name, documents, tuple(questions))


def list_paragraphs(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the paragraphs of a question; HotpotQA and 2WikiMultihopQA have pairs of a title and its sentences."""
    if "context" in row:
        return [{"title": title, "sentences": sentences} for title, sentences in row["context"]]
    return list(row["paragraphs"])


def key(paragraph: Mapping[str, Any]) -> str:
    """Return the key of a paragraph of a multi-hop file."""
    return f"{paragraph['title']}\n{_text(paragraph)}"


def _text(paragraph: Mapping[str, Any]) -> str:
    for name in ("text", "paragraph_text"):
        if name in paragraph:
            return str(paragraph[name])
    sentences = paragraph["sentences"]
    # HotpotQA begins a sentence with its blank; 2WikiMultihopQA leaves it out.
    return ("" if any(one.startswith(" ") for one in sentences) else " ").join(sentences).strip()


def load_questions(path: Path, one: Collection) -> list[AnsweredQuestion]:
    """Read the known answers of a multi-hop file, in the order of the collection."""
    by_text = {row["question"]: row for row in rows(path)}
    return [_build_question(question, by_text[question.text]) for question in one.questions]


def _build_question(question: Question, row: dict[str, Any]) -> AnsweredQuestion:
    keys = dict.fromkeys(key(paragraph) for paragraph in list_paragraphs(row))
    answers = (str(row["answer"]), *map(str, row.get("answer_aliases", ())))
    return AnsweredQuestion(question, answers, tuple(name for name in keys if name not in question.grades))
