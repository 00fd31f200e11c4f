"""Evaluations over passages that are pooled from all questions of a file."""

from collections.abc import Mapping
from pathlib import Path

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample

from benchmarks.retrieval import file_name
from benchmarks.support.datasets import AnsweredQuestion, Document, collection, load_questions
from evals.downloads import DataFile
from evals.scorers import SUPPORTING, known_answer, supporting_passages, usage
from evals.solvers import DOCS, tenure
from tenure.settings import Settings

RECORDED = Path(__file__).parent / "recorded"
"""Folder of the small evaluation whose answers are recorded."""


def build_multihop(source: DataFile, file: str | None, *, answerable: bool) -> Task:
    """Return an evaluation of questions with known answers.

    Args:
        source: the public file.
        file: path of a file in the same format, used instead.
        answerable: whether the passages that support an answer are among those of the question; without them an
            answer can only be guessed, and `answered` should be 0.
    """
    path = locate_file(source, file)
    pooled = collection(path)
    folder = write_passages(pooled.name, pooled.documents)
    questions = enumerate(load_questions(path, pooled), start=1)
    samples = [_build_sample(number, asked, folder, answerable=answerable) for number, asked in questions]
    return Task(
        dataset=MemoryDataset(samples, name=pooled.name),
        solver=tenure(),
        scorer=[known_answer(), supporting_passages(), usage()],
    )


def locate_file(source: DataFile, file: str | None) -> Path:
    """Return the path of a given file, or of the public one, which is downloaded if it is missing."""
    return Path(file).expanduser().absolute() if file else source.load(_get_home())


def write_passages(name: str, documents: Mapping[str, Document]) -> Path:
    """Write documents to a folder of the home, each to a file named by its key, and return the folder."""
    folder = _get_home() / name
    folder.mkdir(parents=True, exist_ok=True)
    for key, document in documents.items():
        path = folder / file_name(key)
        if not path.exists():
            path.write_text(f"# {document.title}\n\n{document.text}\n", encoding="utf-8")
    return folder


def _get_home() -> Path:
    return Settings().home.absolute() / "evals"


def _build_sample(number: int, asked: AnsweredQuestion, folder: Path, *, answerable: bool) -> Sample:
    docs = [folder] if answerable else [folder / file_name(key) for key in asked.distractors]
    return Sample(
        id=number,
        input=asked.question.text,
        target=list(asked.answers),
        metadata={DOCS: list(map(str, docs)), SUPPORTING: [file_name(key) for key in asked.question.grades]},
    )
