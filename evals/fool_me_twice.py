"""FoolMeTwice (Eisenschlos et al. 2021, Apache-2.0): claims about pages of Wikipedia that people made hard to judge."""

import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

# `inspect` puts the folder of a task on the path, but not the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.retrieval import file_name
from benchmarks.support.datasets import Document, rows
from evals.downloads import DataFile
from evals.multihop import locate_file, write_passages
from evals.scorers import SUPPORTING, supporting_passages, usage, verdict
from evals.solvers import DOCS, tenure

_FILE = DataFile(
    "https://raw.githubusercontent.com/google-research/fool-me-twice/d9db753e5acf91c0d9bf543db327ab655661eb94/"
    "dataset/dev.jsonl",
    "27a00a0ad0d54adc4f0b11d3f2330ec3c5c10704",
)
_VERDICTS = {"SUPPORTS": "yes", "REFUTES": "no"}


@task
def fool_me_twice(file: str | None = None) -> Task:
    """Judge claims over the sentences of all pages that the set gives as evidence."""
    path = locate_file(_FILE, file)
    claims = list(rows(path))
    folder = write_passages(f"fool-me-twice-{path.stem}", _collect_pages(claims))
    return Task(
        dataset=MemoryDataset([_build_sample(claim, folder) for claim in claims], name=path.stem),
        solver=tenure(),
        scorer=[verdict(), supporting_passages(), usage()],
    )


def _collect_pages(claims: list[dict[str, Any]]) -> dict[str, Document]:
    """Return the pages by title, each with the known sentences of its sections."""
    sections: dict[str, dict[str, dict[str, None]]] = {}
    for claim in claims:
        for sentence in (*claim["gold_evidence"], *claim["retrieved_evidence"]):
            page = sections.setdefault(claim["wikipedia_page"], {})
            page.setdefault(sentence["section_header"], {})[sentence["text"]] = None
    return {
        title: Document(title, "\n\n".join(f"## {name}\n\n{' '.join(texts)}" for name, texts in page.items()))
        for title, page in sections.items()
    }


def _build_sample(claim: dict[str, Any], folder: Path) -> Sample:
    return Sample(
        id=claim["id"],
        input=f"Is this true? {claim['text']}",
        target=_VERDICTS[claim["label"]],
        metadata={DOCS: [str(folder)], SUPPORTING: [file_name(claim["wikipedia_page"])]},
    )
